//! Lines of a file, one at a time, with a bound on what one of them may hold in memory.

use std::io::{self, BufRead, Read};

use crate::unpacked::Unpacked;

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

#[cfg(test)]
mod tests {
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
}
