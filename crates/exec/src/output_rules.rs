//! Rules for the text of an attempt's output: the lines that are worth another attempt, and those with a hint.

use std::mem;
use std::str::FromStr;
use std::sync::Arc;

use regex::bytes::Regex;
use stagger::StdTime;
use stagger_core::Span;
use stagger_core::hint::retry_after;

/// The longest line that is matched as a whole; a longer one is matched in parts of this length. It bounds the memory
/// of a command that prints for ever without a line break.
const LINE: usize = 64 << 10;

/// A pattern for lines, as grep has it: a regular expression that matches anywhere in a line.
#[derive(Clone, Debug)]
pub struct LinePattern(Regex);

impl LinePattern {
    /// The lines of a `Retry-After` header, as curl and HTTPie print them.
    pub const RETRY_AFTER: &str = r"(?i)^[<\s]*retry-after:\s*(.*)$";

    /// The value in a line: the first group, or the whole match without groups.
    fn value<'l>(&self, line: &'l [u8]) -> Option<&'l [u8]> {
        let found = self.0.captures(line)?;
        let value = if found.len() > 1 { found.get(1) } else { found.get(0) };
        value.map(|value| value.as_bytes())
    }
}

impl FromStr for LinePattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let pattern = Regex::new(text).map_err(|error| {
            let why = error.to_string();
            let last = why.lines().last().unwrap_or_default();
            format!("must be a regular expression: {}", last.trim_start_matches("error: "))
        })?;
        Ok(Self(pattern))
    }
}

/// The patterns for the output of every attempt.
#[derive(Clone, Debug, Default)]
pub struct OutputRules {
    /// A line that makes an attempt worth another one, whatever its exit code.
    pub retry: Option<LinePattern>,
    /// A line with a hint, whose first group is the value of a `Retry-After` header.
    pub hint: Option<LinePattern>,
}

impl OutputRules {
    /// Whether there is nothing to look for.
    pub(crate) fn is_empty(&self) -> bool {
        self.retry.is_none() && self.hint.is_none()
    }
}

/// One stream of an attempt's output, line by line.
#[derive(Debug)]
pub(crate) struct LineScanner {
    rules: Arc<OutputRules>,
    line: Vec<u8>,
    retried: bool,
    hint: Option<Span>,
}

impl LineScanner {
    pub(crate) const fn new(rules: Arc<OutputRules>) -> Self {
        Self { rules, line: Vec::new(), retried: false, hint: None }
    }

    /// Takes the next bytes.
    pub(crate) fn add(&mut self, mut bytes: &[u8]) {
        if self.rules.is_empty() {
            return;
        }
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.fill(&bytes[..end]);
            self.settle();
            bytes = &bytes[end + 1..];
        }
        self.fill(bytes);
    }

    /// The stream has ended, also without a line break. Behind the last line break there is no line.
    pub(crate) fn finish(&mut self) {
        if !self.line.is_empty() {
            self.settle();
        }
    }

    /// Whether a line is worth another attempt.
    pub(crate) const fn is_retried(&self) -> bool {
        self.retried
    }

    /// The longest hint.
    pub(crate) const fn hint(&self) -> Option<Span> {
        self.hint
    }

    /// Adds to the line, in parts of the longest one.
    fn fill(&mut self, mut bytes: &[u8]) {
        while self.line.len() + bytes.len() > LINE {
            let (now, later) = bytes.split_at(LINE - self.line.len());
            self.line.extend_from_slice(now);
            self.settle();
            bytes = later;
        }
        self.line.extend_from_slice(bytes);
    }

    fn settle(&mut self) {
        let mut line = mem::take(&mut self.line);
        let text = line.strip_suffix(b"\r").unwrap_or(&line);
        if let Some(retry) = &self.rules.retry {
            self.retried |= retry.0.is_match(text);
        }
        let value = self.rules.hint.as_ref().and_then(|hint| hint.value(text));
        let hint = value.and_then(|value| retry_after(value, Some(StdTime::wall().into())));
        self.hint = self.hint.max(hint);
        line.clear();
        self.line = line;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(rules: OutputRules, pieces: &[&[u8]]) -> (bool, Option<Span>) {
        let mut scanner = LineScanner::new(Arc::new(rules));
        pieces.iter().for_each(|piece| scanner.add(piece));
        scanner.finish();
        (scanner.is_retried(), scanner.hint())
    }

    fn retry(pattern: &str) -> OutputRules {
        OutputRules { retry: Some(pattern.parse().unwrap()), hint: None }
    }

    #[test]
    fn a_line_in_two_pieces_or_without_its_break_was_not_matched() {
        assert!(scan(retry("^connection reset$"), &[b"a\nconnect", b"ion reset\nb"]).0);
        assert!(scan(retry("^connection reset$"), &[b"connection", b" reset"]).0);
        assert!(scan(retry("^reset$"), &[b"reset\r\n"]).0);
        assert!(!scan(retry("^reset$"), &[b"reset", b"s\n"]).0);
        assert!(!scan(retry("a.b"), &[b"a\nb"]).0, "a match is within a line");
        assert!(scan(retry("^$"), &[b"a\n\nb"]).0);
    }

    #[test]
    fn the_end_of_a_stream_was_an_empty_line() {
        for pattern in ["^$", ".*"] {
            assert!(!scan(retry(pattern), &[]).0, "{pattern}: nothing was printed");
        }
        assert!(!scan(retry("^$"), &[b"a\n"]).0, "a break ends its line, and begins none");
    }

    #[test]
    fn a_line_that_never_ends_took_all_memory() {
        let mut scanner = LineScanner::new(Arc::new(retry("needle")));
        for _ in 0..100 {
            scanner.add(&[b'x'; 10_000]);
            assert!(scanner.line.capacity() <= 2 * LINE && !scanner.is_retried());
        }
        scanner.add(b"needle");
        scanner.finish();
        assert!(scanner.is_retried());
    }

    #[test]
    fn the_hint_of_a_header_was_missed_or_the_shortest_one_won() {
        let rules =
            |pattern: &str| OutputRules { retry: None, hint: Some(pattern.parse().unwrap()) };
        let header = || rules(LinePattern::RETRY_AFTER);
        let seconds = |seconds| Some(Span::from_secs(seconds));
        assert_eq!(scan(header(), &[b"HTTP/1.1 503\r\nRetry-After: 7\r\n"]).1, seconds(7));
        assert_eq!(scan(header(), &[b"< retry-after: 7\n< RETRY-AFTER: 30\n"]).1, seconds(30));
        assert_eq!(scan(header(), &[b"retry-after: soon\n"]).1, None);
        assert_eq!(scan(rules("wait ([0-9]+) s"), &[b"please wait 12 s\n"]).1, seconds(12));
        assert_eq!(scan(rules("[0-9]+"), &[b"40"]).1, seconds(40));
    }

    #[test]
    fn a_pattern_that_is_none_was_taken() {
        for text in ["(", "a{99999999}", "[z-a]"] {
            assert!(text.parse::<LinePattern>().unwrap_err().starts_with("must be a regular"));
        }
    }
}
