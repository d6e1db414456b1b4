//! A file that grows, is truncated, or is replaced by another one of its name: `tail -F`.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::line_buffer::{LineBuffer, LogPiece};

/// A log file that is followed.
///
/// A file that is truncated and has grown beyond its old length before the next look is read on from
/// there: nothing tells that it was truncated.
#[derive(Debug)]
pub(super) struct FollowedFile {
    path: PathBuf,
    file: File,
    /// The device and the number of the file on it.
    identity: (u64, u64),
    position: u64,
    lines: LineBuffer,
    chunk: Vec<u8>,
}

/// The place at which a file is read first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StartAt {
    /// Its start.
    Start,
    /// Its end.
    End,
}

/// Whether there may be more to read at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadState {
    /// There may be.
    More,
    /// Everything was read that is there.
    AtEnd,
}

/// Bytes that are read at once.
const CHUNK: usize = 64 * 1024;
/// Chunks that are read before anything else has its turn.
const CHUNKS: u32 = 16;

impl FollowedFile {
    /// Opens a file.
    ///
    /// # Errors
    /// The system's refusal, and anything but a file or a pipe.
    pub(super) fn open(path: &Path, start: StartAt) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let mut lines = LineBuffer::default();
        let mut position = 0;
        if start == StartAt::End && metadata.is_file() && metadata.len() > 0 {
            position = file.seek(SeekFrom::End(-1))? + 1;
            let mut last = [0];
            file.read_exact(&mut last)?;
            if last != *b"\n" {
                lines = LineBuffer::within_a_line();
            }
        }
        let identity = (metadata.dev(), metadata.ino());
        Ok(Self { path: path.to_owned(), file, identity, position, lines, chunk: vec![0; CHUNK] })
    }

    /// The first bytes of the file, which tell its format even when it is followed from its end.
    ///
    /// # Errors
    /// The system's refusal.
    pub(super) fn head(&self) -> io::Result<Vec<u8>> {
        let mut head = Vec::new();
        File::open(&self.path)?.take(CHUNK as u64).read_to_end(&mut head)?;
        Ok(head)
    }

    /// Reads what has come since the last time, up to a megabyte of it.
    ///
    /// # Errors
    /// The system's refusal to read on.
    pub(super) fn read(&mut self, take: &mut impl FnMut(LogPiece<'_>)) -> io::Result<ReadState> {
        for _ in 0..CHUNKS {
            let count = match self.file.read(&mut self.chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                count => count?,
            };
            if count == 0 {
                return self.look_again(take);
            }
            self.position += count as u64;
            self.lines.feed(&self.chunk[..count], take);
        }
        Ok(ReadState::More)
    }

    /// The log is over: what is left is a line.
    pub(super) fn finish(&mut self, take: &mut impl FnMut(LogPiece<'_>)) {
        self.lines.finish(take);
    }

    /// Whether the name stands for another file now, or the file has become shorter.
    fn look_again(&mut self, take: &mut impl FnMut(LogPiece<'_>)) -> io::Result<ReadState> {
        // While a file is being replaced there may be none of its name.
        let named = std::fs::metadata(&self.path).ok();
        let identity = named.map(|named| (named.dev(), named.ino()));
        if identity.is_some_and(|identity| identity != self.identity) {
            let Ok(next) = Self::open(&self.path, StartAt::Start) else {
                return Ok(ReadState::AtEnd);
            };
            self.lines.finish(take);
            *self = next;
            take(LogPiece::NewFile);
            return Ok(ReadState::More);
        }
        let metadata = self.file.metadata()?;
        if metadata.is_file() && metadata.len() < self.position {
            self.position = self.file.seek(SeekFrom::Start(0))?;
            self.lines = LineBuffer::default();
            take(LogPiece::NewFile);
            return Ok(ReadState::More);
        }
        Ok(ReadState::AtEnd)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::io::Write as _;

    use super::*;

    /// A log of its own in the folder of test files.
    fn log(name: &str, text: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("stagger-watch-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn append(path: &Path, text: &str) {
        let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn all(file: &mut FollowedFile) -> Vec<String> {
        let mut seen = Vec::new();
        let mut take = |piece: LogPiece<'_>| {
            seen.push(match piece {
                LogPiece::Line(line) => String::from_utf8_lossy(line).into_owned(),
                other => format!("{other:?}"),
            });
        };
        while file.read(&mut take).unwrap() == ReadState::More {}
        seen
    }

    #[test]
    fn what_is_appended_is_read_by_whole_lines() {
        let path = log("grows", "old\nha");
        let mut file = FollowedFile::open(&path, StartAt::End).unwrap();
        assert_eq!(all(&mut file), [""; 0]);
        append(&path, "lf\none\ntw");
        assert_eq!(all(&mut file), ["one"], "a line whose start was not read is dropped");
        append(&path, "o\n");
        assert_eq!(all(&mut file), ["two"]);
        assert_eq!(file.head().unwrap(), b"old\nhalf\none\ntwo\n");
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_file_that_was_renamed_is_read_to_its_end_before_the_next_one() {
        let path = log("rotates", "one\n");
        let mut file = FollowedFile::open(&path, StartAt::Start).unwrap();
        assert_eq!(all(&mut file), ["one"]);
        let rotated = path.with_extension("1");
        fs::rename(&path, &rotated).unwrap();
        // Writers go on with the old file until they are told, and there is none of the name meanwhile.
        append(&rotated, "two\nthree");
        assert_eq!(all(&mut file), ["two"]);
        fs::write(&path, "four\n").unwrap();
        assert_eq!(all(&mut file), ["three", "NewFile", "four"]);
        fs::remove_file(path).unwrap();
        fs::remove_file(rotated).unwrap();
    }

    #[test]
    fn a_file_that_was_truncated_is_read_from_its_start() {
        let path = log("shrinks", "one\ntwo\nthr");
        let mut file = FollowedFile::open(&path, StartAt::Start).unwrap();
        assert_eq!(all(&mut file), ["one", "two"]);
        OpenOptions::new().write(true).open(&path).unwrap().set_len(0).unwrap();
        append(&path, "four\n");
        assert_eq!(all(&mut file), ["NewFile", "four"]);
        fs::remove_file(path).unwrap();
    }
}
