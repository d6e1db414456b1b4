//! The outlet of a reply: standard output, or a file that is whole or as it was.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use crate::stdout;

/// The outlet of the bytes of a reply.
#[derive(Debug)]
pub(super) enum ReplyWriter {
    /// Standard output, as they come.
    Stdout,
    /// A pipe or a device: bytes go there as they come, and nothing is cut short.
    Stream(File),
    /// A new file beside the one that it becomes.
    Partial(PartialFile),
}

/// A file that is not there yet.
#[derive(Debug)]
pub(super) struct PartialFile {
    file: File,
    /// `None` once it has been put in place.
    made: Option<PathBuf>,
    place: PathBuf,
}

impl ReplyWriter {
    /// Opens the place. Nothing of it is changed yet.
    ///
    /// # Errors
    /// The system's refusal.
    pub(super) fn open(path: Option<&Path>) -> io::Result<Self> {
        let Some(path) = path.filter(|path| path.as_os_str() != "-") else {
            return Ok(Self::Stdout);
        };
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            Ok(found) if !found.is_file() => {
                Ok(Self::Stream(OpenOptions::new().write(true).open(path)?))
            }
            // A link stays one: what it leads to is replaced.
            Ok(found) => {
                let beside = PartialFile::of(fs::canonicalize(path)?)?;
                fs::set_permissions(beside.made.as_deref().unwrap_or(path), found.permissions())?;
                Ok(Self::Partial(beside))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(Self::Partial(PartialFile::of(path.to_path_buf())?))
            }
            Err(error) => Err(error),
        }
    }

    /// Writes a piece; returns whether the reader is still there.
    ///
    /// # Errors
    /// The system's refusal.
    pub(super) fn write(&mut self, piece: &[u8]) -> io::Result<bool> {
        match self {
            Self::Stdout => stdout::piece(piece),
            Self::Stream(file) => match file.write_all(piece) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
                written => written.map(|()| true),
            },
            Self::Partial(beside) => beside.file.write_all(piece).map(|()| true),
        }
    }

    /// Deletes the bytes written so far, if they went to a partial file.
    ///
    /// # Errors
    /// The system's refusal.
    pub(super) fn restart(&mut self) -> io::Result<()> {
        let Self::Partial(beside) = self else { return Ok(()) };
        beside.file.set_len(0)?;
        beside.file.rewind()
    }

    /// All of it is written.
    ///
    /// # Errors
    /// The system's refusal.
    pub(super) fn close(self) -> io::Result<()> {
        match self {
            Self::Partial(beside) => beside.put_in_place(),
            Self::Stdout | Self::Stream(_) => Ok(()),
        }
    }
}

impl PartialFile {
    fn of(place: PathBuf) -> io::Result<Self> {
        let mut name = place.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_os_string();
        name.push(format!(".{}.part", std::process::id()));
        let made = place.with_file_name(name);
        let file = OpenOptions::new().write(true).create_new(true).open(&made)?;
        Ok(Self { file, made: Some(made), place })
    }

    fn put_in_place(mut self) -> io::Result<()> {
        let Some(made) = self.made.take() else { return Ok(()) };
        let put = fs::rename(&made, &self.place);
        if put.is_err() {
            self.made = Some(made);
        }
        put
    }
}

/// Removes a file that was not put in place.
impl Drop for PartialFile {
    fn drop(&mut self) {
        if let Some(made) = &self.made {
            let _ = fs::remove_file(made);
        }
    }
}
