//! Lines out of chunks of bytes, with a bound on the longest.

/// The longest line that is read, in bytes: as for logs that are replayed.
const LONGEST: usize = 256 * 1024;

/// A piece of a log.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LogPiece<'b> {
    /// A line without its end.
    Line(&'b [u8]),
    /// A line that is longer than 256 KiB; its bytes are dropped.
    TooLong,
    /// Another file begins, or the same from its start.
    NewFile,
}

/// The start of a line whose end has not come yet.
#[derive(Debug, Default)]
pub(super) struct LineBuffer {
    bytes: Vec<u8>,
    /// Whether the rest of a line is dropped: it is too long, or its start was never read.
    skips: bool,
}

impl LineBuffer {
    /// A buffer for a log that is read from the middle of a line on.
    pub(super) const fn within_a_line() -> Self {
        Self { bytes: Vec::new(), skips: true }
    }

    /// Takes the next bytes, and hands on the lines that end in them.
    pub(super) fn feed(&mut self, mut chunk: &[u8], take: &mut impl FnMut(LogPiece<'_>)) {
        while let Some(end) = chunk.iter().position(|&byte| byte == b'\n') {
            let (line, rest) = (&chunk[..end], &chunk[end + 1..]);
            chunk = rest;
            if self.skips {
                self.skips = false;
            } else if self.bytes.len() + line.len() > LONGEST {
                take(LogPiece::TooLong);
            } else if self.bytes.is_empty() {
                take(LogPiece::Line(line));
            } else {
                self.bytes.extend_from_slice(line);
                take(LogPiece::Line(&self.bytes));
            }
            self.bytes.clear();
        }
        if self.skips {
            return;
        }
        if self.bytes.len() + chunk.len() > LONGEST {
            self.bytes = Vec::new();
            self.skips = true;
            take(LogPiece::TooLong);
        } else {
            self.bytes.extend_from_slice(chunk);
        }
    }

    /// No more bytes come: what is left is a line.
    pub(super) fn finish(&mut self, take: &mut impl FnMut(LogPiece<'_>)) {
        if !self.bytes.is_empty() {
            take(LogPiece::Line(&self.bytes));
        }
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(buffer: &mut LineBuffer, chunks: &[&[u8]]) -> Vec<String> {
        let mut seen = Vec::new();
        let mut take = |piece: LogPiece<'_>| {
            seen.push(match piece {
                LogPiece::Line(line) => String::from_utf8_lossy(line).into_owned(),
                LogPiece::TooLong => "too long".to_owned(),
                LogPiece::NewFile => "new file".to_owned(),
            });
        };
        chunks.iter().for_each(|chunk| buffer.feed(chunk, &mut take));
        buffer.finish(&mut take);
        seen
    }

    #[test]
    fn lines_are_whole_wherever_chunks_end() {
        let text = b"one\ntwo\n\nfour\nrest";
        for cut in 0..text.len() {
            let (first, second) = text.split_at(cut);
            let seen = pieces(&mut LineBuffer::default(), &[first, second]);
            assert_eq!(seen, ["one", "two", "", "four", "rest"], "{cut}");
        }
        assert_eq!(pieces(&mut LineBuffer::within_a_line(), &[b"ne\ntwo\n"]), ["two"]);
    }

    #[test]
    fn a_line_of_a_megabyte_is_counted_once_and_not_kept() {
        let mut buffer = LineBuffer::default();
        let long = vec![b'x'; 1 << 16];
        let mut chunks: Vec<&[u8]> = vec![&long; 16];
        chunks.push(b"\nnext\n");
        assert_eq!(pieces(&mut buffer, &chunks), ["too long", "next"]);
        let whole = [vec![b'x'; 1 << 20], b"\nnext\n".to_vec()].concat();
        assert_eq!(pieces(&mut buffer, &[&whole]), ["too long", "next"]);
        assert!(buffer.bytes.capacity() <= 2 * LONGEST);
    }
}
