//! Reading a log: one pass, one line at a time.

use std::collections::VecDeque;
use std::io::BufRead;

use stagger_core::Span;

use crate::access_log::AccessLog;
use crate::attempt_collector::AttemptCollector;
use crate::error::{BadLine, ReadError};
use crate::format::{AccessLogFormat, LogMap, Parser};
use crate::lines::{Lines, LogLine};
use crate::logged_attempt::Malformed;

/// The options for reading a log.
///
/// ```
/// use stagger_core::Span;
/// use stagger_replay::{OutageKind, Reading};
/// let mut csv = String::from("ts,code,try\n");
/// for ms in (0..10_000).step_by(10) {
///     let is_down = (4_000..6_000).contains(&ms);
///     csv += &format!("{},{},1\n", 1_700_000_000_000_u64 + ms, if is_down { 503 } else { 200 });
/// }
/// let map = "time=ts,status=code,attempt=try".parse()?;
/// let log = Reading { map: Some(map), ..Reading::default() }.read(csv.as_bytes())?;
/// let [outage] = log.outages() else { panic!("one outage") };
/// assert_eq!(outage.kind, OutageKind::Refused);
/// assert_eq!(outage.length(), Span::from_secs(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Its format; told by its first lines when `None`.
    pub format: Option<AccessLogFormat>,
    /// Its columns, where they are not those that are looked for.
    pub map: Option<LogMap>,
}

/// Lines that are kept to tell format and grain before anything is counted.
const KEPT_LINES: u64 = 1_000;
/// Bytes of them at most.
const KEPT_BYTES: usize = 4 << 20;
/// Malformed lines that are shown.
const SHOWN: usize = 5;
/// The first bytes of compressed files (RFC 1952, RFC 8878, the xz and bzip2 formats).
const PACKED: [(&[u8], &str); 4] =
    [(b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"\xfd7zXZ", "xz"), (b"BZh9", "bzip2")];

impl Reading {
    /// Reads a log to its end, unpacking it on the way where it is packed by gzip.
    ///
    /// Of a packed log that was cut off, what is there is read: [`AccessLog::broken`] says so then.
    /// Malformed lines are counted, and the first of them are kept to be shown. At most a line of
    /// 256 KiB, some seconds of attempts, failures of some minutes, and 8 bytes for each first
    /// attempt are held in memory, besides 24 bytes for every 50 ms of the log: see
    /// [`MemoryPeak`](crate::MemoryPeak).
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn read(&self, input: impl BufRead) -> Result<AccessLog, ReadError> {
        let mut lines = Lines::new(input)?;
        let kept = FirstLines::read(&mut lines)?;
        if let (true, Some(why)) = (kept.lines.is_empty(), lines.broken()) {
            return Err(ReadError::Broken(why.to_owned()));
        }
        let (format, mut parser) = self.parser(&kept)?;
        let mut pass = Pass::default();
        let mut collector =
            AttemptCollector::new(pass.check(&mut parser.clone(), &kept, format)?);
        let mut header = parser.has_header();
        for (number, line) in kept.lines {
            if !std::mem::take(&mut header) {
                pass.line(&mut parser, &mut collector, number, &LogLine::Whole(&line))?;
            }
        }
        if let Some((number, text)) = kept.cut {
            pass.line(&mut parser, &mut collector, number, &LogLine::Cut(&text))?;
        }
        while let Some((number, line)) = lines.next()? {
            pass.line(&mut parser, &mut collector, number, &line)?;
        }
        let Pass { lines: read, malformed, bad_lines } = pass;
        let broken = lines.broken().map(str::to_owned);
        let log = collector.finish(format, lines.longest())?;
        Ok(AccessLog { lines: read, malformed, bad_lines, broken, ..log })
    }

    fn parser(&self, kept: &FirstLines) -> Result<(AccessLogFormat, Parser), ReadError> {
        let (number, first) = kept.lines.front().ok_or(ReadError::Empty)?;
        let bad = |why| BadLine::new(*number, why, first);
        if let Some((_, by)) = PACKED.iter().find(|(magic, _)| first.starts_with(magic)) {
            return Err(ReadError::Compressed(by));
        }
        let format = self.format.or_else(|| {
            let lines: Vec<&[u8]> = kept.lines.iter().map(|(_, line)| line.as_slice()).collect();
            AccessLogFormat::detect(&lines, self.map.as_ref())
        });
        let format = format.ok_or_else(|| ReadError::Unknown(bad("no such format")))?;
        let parser = Parser::new(format, self.map.as_ref(), first);
        Ok((format, parser.ok_or_else(|| ReadError::NoColumns(bad("no such columns")))?))
    }
}

/// The first lines that say anything, with their numbers.
#[derive(Debug, Default)]
struct FirstLines {
    lines: VecDeque<(u64, Vec<u8>)>,
    /// The rest of the last line of a file that breaks off.
    cut: Option<(u64, Vec<u8>)>,
}

impl FirstLines {
    fn read<R: BufRead>(input: &mut Lines<R>) -> Result<Self, ReadError> {
        let mut kept = Self::default();
        let mut bytes = 0;
        while (kept.lines.len() as u64) < KEPT_LINES && bytes < KEPT_BYTES {
            let Some((number, line)) = input.next()? else { break };
            let text = match line {
                LogLine::Whole(text) | LogLine::TooLong(text) => text,
                LogLine::Cut(text) => {
                    kept.cut = Some((number, text.to_vec()));
                    break;
                }
            };
            if !is_blank(text) {
                bytes += text.len();
                kept.lines.push_back((number, text.to_vec()));
            }
        }
        Ok(kept)
    }
}

/// The counts of lines.
#[derive(Debug, Default)]
struct Pass {
    lines: u64,
    malformed: u64,
    bad_lines: Vec<BadLine>,
}

impl Pass {
    /// The grain of the stamps, if at least half of the first lines are attempts. It is the finest
    /// one seen, because some writers leave off zeros.
    fn check(
        &self,
        parser: &mut Parser,
        kept: &FirstLines,
        format: AccessLogFormat,
    ) -> Result<Span, ReadError> {
        let (mut grain, mut malformed, mut of, mut first) = (Span::MAX, 0, 0, None);
        for (number, line) in kept.lines.iter().skip(usize::from(parser.has_header())) {
            of += 1;
            match parser.parse(line) {
                Ok(attempt) => grain = grain.min(attempt.stamp.grain),
                Err(why) => {
                    malformed += 1;
                    first.get_or_insert_with(|| BadLine::new(*number, why, line));
                }
            }
        }
        match first {
            Some(first) if 2 * malformed > of => {
                Err(ReadError::WrongFormat { format, malformed, of, first })
            }
            _ => Ok(grain),
        }
    }

    fn line(
        &mut self,
        parser: &mut Parser,
        collector: &mut AttemptCollector,
        number: u64,
        line: &LogLine<'_>,
    ) -> Result<(), ReadError> {
        let (text, parsed) = match *line {
            LogLine::Whole(text) if is_blank(text) => return Ok(()),
            LogLine::Whole(text) => (text, parser.parse(text)),
            LogLine::TooLong(text) => (text, Err("longer than 256 KiB")),
            LogLine::Cut(text) => (text, Err("the packed file breaks off here")),
        };
        self.lines += 1;
        match parsed {
            Ok(attempt) => collector.push(attempt)?,
            Err(why) => self.malformed(number, why, text),
        }
        Ok(())
    }

    fn malformed(&mut self, number: u64, why: Malformed, text: &[u8]) {
        self.malformed += 1;
        if self.bad_lines.len() < SHOWN {
            self.bad_lines.push(BadLine::new(number, why, text));
        }
    }
}

fn is_blank(line: &[u8]) -> bool {
    line.trim_ascii().is_empty()
}
