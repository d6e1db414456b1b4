//! A file as text, unpacked on the way where it is packed by gzip.

use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};

use flate2::bufread::MultiGzDecoder;

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
