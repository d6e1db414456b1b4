//! Reading a log that goes on: line by line, with the format told by the first lines.

use crate::error::{BadLine, ReadError};
use crate::format::{AccessLogFormat, LogMap, Parser};
use crate::logged_attempt::{LoggedAttempt, LoggedNames};

/// Reads lines as they come, of a log that need not have an end.
///
/// The format is told by as few lines as can tell it; those before are read again in it then.
///
/// ```
/// use stagger_replay::{LineParser, LoggedOutcome};
/// let mut parser = LineParser::default();
/// let mut seen = Vec::new();
/// for line in ["time,status,client,path", "1700000000000,503,10.0.0.1,/a?b=1"] {
///     parser.push(line.as_bytes(), |attempt, names| {
///         seen.push((attempt.answer, names.client.as_deref().map(str::to_owned)));
///     })?;
/// }
/// assert_eq!(seen, [(LoggedOutcome::Failed, Some("10.0.0.1".to_owned()))]);
/// # Ok::<(), stagger_replay::ReadError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct LineParser {
    format: Option<AccessLogFormat>,
    map: Option<LogMap>,
    parser: Option<Parser>,
    /// Lines that have not told the format yet.
    first: Vec<Vec<u8>>,
    lines: u64,
    malformed: u64,
}

/// The lines that may pass before the format is told: as many as a reading of a whole file looks at.
const LOOKED_AT: usize = 32;

impl LineParser {
    /// A parser for this format, told by the first lines when `None`, and with these columns.
    #[must_use]
    pub fn new(format: Option<AccessLogFormat>, map: Option<LogMap>) -> Self {
        Self { format, map, ..Self::default() }
    }

    /// The format, once it is known.
    #[must_use]
    pub const fn format(&self) -> Option<AccessLogFormat> {
        self.format
    }

    /// Lines with anything on them, the header of a CSV file included.
    #[must_use]
    pub const fn lines(&self) -> u64 {
        self.lines
    }

    /// Lines among them that are no attempts.
    #[must_use]
    pub const fn malformed(&self) -> u64 {
        self.malformed
    }

    /// Takes the next line without its end, and hands the attempts in it to `take`: none or one, and
    /// those of all lines so far when this one tells the format.
    ///
    /// # Errors
    /// [`ReadError::Unknown`] when 32 lines have told no format, [`ReadError::NoColumns`] for a
    /// header of CSV without a time or a status, and [`ReadError::NoMap`] for a map of columns in a format
    /// that has none.
    pub fn push(
        &mut self,
        line: &[u8],
        mut take: impl FnMut(&LoggedAttempt, &LoggedNames<'_>),
    ) -> Result<(), ReadError> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        if self.parser.as_mut().is_some_and(|parser| parser.is_directive(line)) {
            return Ok(());
        }
        self.lines += 1;
        if let Some(parser) = &mut self.parser {
            self.malformed += u64::from(parser.parse_named(line, take).is_err());
            return Ok(());
        }
        let mark = if self.first.is_empty() { "\u{feff}".as_bytes() } else { b"" };
        self.first.push(line.strip_prefix(mark).unwrap_or(line).to_vec());
        let Some(mut parser) = self.told()? else { return Ok(()) };
        let header = usize::from(parser.has_header());
        for line in std::mem::take(&mut self.first).iter().skip(header) {
            if parser.is_directive(line) {
                self.lines -= 1;
                continue;
            }
            self.malformed += u64::from(parser.parse_named(line, &mut take).is_err());
        }
        self.parser = Some(parser);
        Ok(())
    }

    /// Counts a line that was too long to be read.
    pub const fn skip(&mut self) {
        self.lines += 1;
        self.malformed += 1;
    }

    /// Starts again with another file, whose first line may be a header; the format stays.
    pub fn restart(&mut self) {
        if self.parser.as_ref().is_some_and(Parser::has_header) {
            self.parser = None;
        }
    }

    /// The parser, if the first lines tell it.
    fn told(&mut self) -> Result<Option<Parser>, ReadError> {
        let lines: Vec<&[u8]> = self.first.iter().map(Vec::as_slice).collect();
        let bad = |why| BadLine::new(1, why, lines[0]);
        let format = self.format.or_else(|| AccessLogFormat::detect(&lines, self.map.as_ref()));
        let Some(format) = format else {
            return match lines.len() {
                LOOKED_AT.. => Err(ReadError::Unknown(bad("no such format"))),
                _ => Ok(None),
            };
        };
        let parser = Parser::new(format, self.map.as_ref(), lines[0]);
        let refused = || match format {
            AccessLogFormat::Csv => ReadError::NoColumns(bad("no such columns")),
            _ => ReadError::NoMap(format),
        };
        let parser = parser.ok_or_else(refused)?;
        self.format = Some(format);
        Ok(Some(parser))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str]) -> (LineParser, Vec<String>) {
        let (mut parser, mut clients) = (LineParser::default(), Vec::new());
        for line in lines {
            let take = |_: &LoggedAttempt, names: &LoggedNames<'_>| {
                clients.push(names.client.as_deref().unwrap_or_default().to_owned());
            };
            parser.push(line.as_bytes(), take).unwrap();
        }
        (parser, clients)
    }

    const COMBINED: &str = r#"10.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 5"#;

    #[test]
    fn a_strange_first_line_delays_the_format_and_loses_nothing() {
        let (parser, clients) = read(&["-- rotated --", COMBINED, "", COMBINED]);
        assert_eq!(clients, ["10.0.0.1"; 2]);
        assert_eq!((parser.lines(), parser.malformed()), (3, 1));
    }

    #[test]
    fn a_new_file_of_csv_has_a_new_header() {
        let (mut parser, _) = read(&["time,status,client", "1700000000000,200,a"]);
        parser.restart();
        let mut clients = Vec::new();
        for line in ["client,time,status", "b,1700000000001,200"] {
            let take = |_: &LoggedAttempt, names: &LoggedNames<'_>| {
                clients.push(names.client.as_deref().unwrap_or_default().to_owned());
            };
            parser.push(line.as_bytes(), take).unwrap();
        }
        assert_eq!((clients, parser.malformed()), (vec!["b".to_owned()], 0));
    }

    #[test]
    fn prose_is_refused_after_some_lines() {
        let mut parser = LineParser::default();
        let refused = (0..40).find_map(|_| parser.push(b"Dear all,", |_, _| {}).err());
        assert!(matches!(refused, Some(ReadError::Unknown(_))), "{refused:?}");
    }
}
