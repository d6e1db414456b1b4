//! Lines of a log, one at a time and bounded in length, and unpacked on the way where gzip packed it.

use std::io;
use std::io::{BufRead, BufReader, Chain, Cursor, Read};

use flate2::bufread::MultiGzDecoder;

/// The longest line that is read, in bytes. nginx refuses requests above 8 KiB (four such buffers
/// at most) and Envoy above 60 KiB, and a log escapes some bytes by four.
pub(crate) const LONGEST: usize = 256 * 1024;

/// A line without its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LogLine<'l> {
    /// All of it.
    Whole(&'l [u8]),
    /// The packed file breaks off within it; this is how it begins.
    Cut(&'l [u8]),
    /// It is longer than [`LONGEST`]; this is how it begins.
    TooLong(&'l [u8]),
}

/// Reads lines into one buffer.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    input: Unpacked<R>,
    buffer: Vec<u8>,
    number: u64,
    longest: usize,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(input: R) -> io::Result<Self> {
        let input = Unpacked::new(input)?;
        Ok(Self { input, buffer: Vec::new(), number: 0, longest: 0 })
    }

    /// The next line with its number, from 1; `None` at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<(u64, LogLine<'_>)>> {
        self.buffer.clear();
        let mut bounded = (&mut self.input).take(LONGEST as u64 + 1);
        if bounded.read_until(b'\n', &mut self.buffer)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        self.longest = self.longest.max(self.buffer.len());
        if self.buffer.last() == Some(&b'\n') {
            self.buffer.pop();
        } else if self.buffer.len() > LONGEST {
            self.input.skip_until(b'\n')?;
            return Ok(Some((self.number, LogLine::TooLong(&self.buffer))));
        } else if self.input.broken().is_some() {
            return Ok(Some((self.number, LogLine::Cut(&self.buffer))));
        }
        Ok(Some((self.number, LogLine::Whole(trimmed(&self.buffer, self.number)))))
    }

    /// The reason why a packed file ends before its end, if it does.
    pub(crate) fn broken(&self) -> Option<&str> {
        self.input.broken()
    }

    /// The most bytes that were held at once.
    pub(crate) const fn longest(&self) -> usize {
        self.longest
    }
}

/// Without the carriage return of Windows, and without the byte order mark of a first line.
fn trimmed(line: &[u8], number: u64) -> &[u8] {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let mark = if number == 1 { "\u{feff}".as_bytes() } else { b"" };
    line.strip_prefix(mark).unwrap_or(line)
}

/// The first bytes of gzip (RFC 1952, section 2.3.1). The name of a file says nothing: rotation renames.
const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Bytes that are unpacked at once.
const AT_ONCE: usize = 64 * 1024;

/// Text that may have been packed; of several members one after the other, as logs that were
/// appended to have them, all are read.
#[derive(Debug)]
pub(crate) struct Unpacked<R> {
    source: LogSource<R>,
    broken: Option<String>,
}

#[derive(Debug)]
enum LogSource<R> {
    Plain(Peeked<R>),
    Gzip(BufReader<MultiGzDecoder<Peeked<R>>>),
}

/// The bytes that were looked at, and what comes behind them.
type Peeked<R> = Chain<Cursor<Vec<u8>>, R>;

impl<R: BufRead> Unpacked<R> {
    /// Looks at how the input begins.
    pub(crate) fn new(mut input: R) -> io::Result<Self> {
        let mut magic = Vec::new();
        input.by_ref().take(MAGIC.len() as u64).read_to_end(&mut magic)?;
        let is_gzip = magic == MAGIC;
        let all = Cursor::new(magic).chain(input);
        let source = match is_gzip {
            true => LogSource::Gzip(BufReader::with_capacity(AT_ONCE, MultiGzDecoder::new(all))),
            false => LogSource::Plain(all),
        };
        Ok(Self { source, broken: None })
    }

    /// The reason why the packed data ends before its end, if it does: it was cut off, or something else
    /// follows.
    pub(crate) fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }
}

impl<R: BufRead> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Unpacked<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let input = match &mut self.source {
            LogSource::Plain(input) => return input.fill_buf(),
            LogSource::Gzip(input) => input,
        };
        if self.broken.is_none() && input.buffer().is_empty() {
            match input.fill_buf() {
                Err(error) if is_of_data(&error) => self.broken = Some(error.to_string()),
                Err(error) => return Err(error),
                Ok(_) => {}
            }
        }
        Ok(input.buffer())
    }

    fn consume(&mut self, amount: usize) {
        match &mut self.source {
            LogSource::Plain(input) => input.consume(amount),
            LogSource::Gzip(input) => input.consume(amount),
        }
    }
}

/// Whether an error is about what the file holds, and not about reading it.
fn is_of_data(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn all(text: &[u8]) -> Vec<(u64, Vec<u8>, bool)> {
        let mut lines = Lines::new(text).unwrap();
        let mut all = Vec::new();
        while let Some((number, line)) = lines.next().unwrap() {
            all.push(match line {
                LogLine::Whole(text) => (number, text.to_vec(), true),
                LogLine::Cut(text) | LogLine::TooLong(text) => (number, text[..3].to_vec(), false),
            });
        }
        assert!(lines.longest() <= LONGEST + 1);
        all
    }

    #[test]
    fn a_last_line_needs_no_end_and_windows_has_two() {
        let whole = |number, text: &str| (number, text.as_bytes().to_vec(), true);
        let expected = [whole(1, "a"), whole(2, ""), whole(3, "b")];
        assert_eq!(all("\u{feff}a\r\n\nb".as_bytes()), expected);
        assert_eq!(all(b""), []);
    }

    #[test]
    fn a_line_without_end_is_not_kept_in_memory() {
        let mut text = vec![b'x'; 3 * LONGEST];
        text.extend_from_slice(b"\nnext\n");
        let expected = [(1, b"xxx".to_vec(), false), (2, b"next".to_vec(), true)];
        assert_eq!(all(&text), expected);
    }

    #[test]
    fn a_line_of_just_the_bound_is_whole() {
        let mut text = vec![b'x'; LONGEST];
        text.push(b'\n');
        assert_eq!(all(&text)[0].1.len(), LONGEST);
    }

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn read(input: &[u8]) -> (Vec<u8>, Option<String>) {
        // One byte at a time, as a slow pipe gives them.
        let mut unpacked = Unpacked::new(BufReader::with_capacity(1, input)).unwrap();
        let mut text = Vec::new();
        unpacked.read_to_end(&mut text).unwrap();
        (text, unpacked.broken)
    }

    #[test]
    fn what_is_not_packed_is_given_as_it_is() {
        for text in ["", "a", "ab", "\u{1f}", "plain\ntext\n"] {
            assert_eq!(read(text.as_bytes()), (text.as_bytes().to_vec(), None));
        }
    }

    #[test]
    fn every_member_is_read_and_empty_ones_are_nothing() {
        let all = [packed(b"one\n"), packed(b""), packed(b"two\n"), packed(b"")].concat();
        assert_eq!(read(&all), (b"one\ntwo\n".to_vec(), None));
    }

    #[test]
    fn what_was_cut_off_is_read_as_far_as_it_goes() {
        let text: Vec<u8> =
            (0..20_000_u32).flat_map(|n| n.wrapping_mul(0x9e37_79b9).to_le_bytes()).collect();
        let all = packed(&text);
        for length in [3, 12, all.len() / 2, all.len() - 1] {
            let (got, broken) = read(&all[..length]);
            assert!(text.starts_with(&got) && broken.is_some(), "{length}");
            assert_eq!(got.is_empty(), length <= 12);
        }
        let (got, broken) = read(&[packed(b"a\n"), b"rubbish".to_vec()].concat());
        assert_eq!(got, b"a\n");
        assert!(broken.is_some());
    }
}
