//! One file of a log: its format, the grain of its stamps, and its attempts one after the other.

use std::collections::VecDeque;
use std::io::BufRead;

use stagger_core::Span;

use crate::error::{BadLine, ReadError};
use crate::format::{AccessLogFormat, LogMap, Parser};
use crate::line_order::LineOrder;
use crate::lines::{Lines, LogLine};
use crate::logged_attempt::{LoggedAttempt, Malformed};

/// Lines that are kept to tell format and grain before anything is counted.
const KEPT_LINES: u64 = 1_000;

/// Bytes of them at most.
const KEPT_BYTES: usize = 4 << 20;

/// Malformed lines that are shown.
const SHOWN: usize = 5;

/// The first bytes of compressed files (RFC 1952, RFC 8878, the xz and bzip2 formats).
const PACKED: [(&[u8], &str); 4] =
    [(b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"\xfd7zXZ", "xz"), (b"BZh9", "bzip2")];

/// A file whose format is known, and of which nothing has been counted.
#[derive(Debug)]
pub(crate) struct LogFile<R> {
    pub(crate) format: AccessLogFormat,
    /// The step between two stamps: the finest one seen, because some writers leave off zeros.
    pub(crate) grain: Span,
    parser: Parser,
    kept: FirstLines,
    lines: Lines<R>,
}

/// The counts of the lines of one file, or of several.
#[derive(Debug, Default)]
pub(crate) struct LineCounts {
    pub(crate) lines: u64,
    pub(crate) malformed: u64,
    pub(crate) bad_lines: Vec<BadLine>,
    pub(crate) broken: Option<String>,
    /// Lines that came late in their file.
    pub(crate) late: u64,
    /// The most bytes of a line.
    pub(crate) longest: usize,
}

impl<R: BufRead> LogFile<R> {
    /// Reads the first lines, and tells the format by them unless it is given.
    pub(crate) fn open(
        input: R,
        format: Option<AccessLogFormat>,
        map: Option<&LogMap>,
    ) -> Result<Self, ReadError> {
        let mut lines = Lines::new(input)?;
        let kept = FirstLines::read(&mut lines)?;
        if let (true, Some(why)) = (kept.lines.is_empty(), lines.broken()) {
            return Err(ReadError::Broken(why.to_owned()));
        }
        let (format, parser) = kept.parser(format, map)?;
        let grain = kept.grain(&mut parser.clone(), format)?;
        Ok(Self { format, grain, parser, kept, lines })
    }

    /// Gives every attempt to `take`, in the order of the lines, with whether it came late.
    pub(crate) fn each(
        mut self,
        mut take: impl FnMut(LoggedAttempt, bool) -> Result<(), ReadError>,
    ) -> Result<LineCounts, ReadError> {
        let mut pass = Pass { counts: LineCounts::default(), order: LineOrder::default() };
        let mut header = self.parser.has_header();
        for (number, line) in std::mem::take(&mut self.kept.lines) {
            if !std::mem::take(&mut header) {
                pass.line(&mut self.parser, number, &LogLine::Whole(&line), &mut take)?;
            }
        }
        if let Some((number, text)) = self.kept.cut.take() {
            pass.line(&mut self.parser, number, &LogLine::Cut(&text), &mut take)?;
        }
        while let Some((number, line)) = self.lines.next()? {
            pass.line(&mut self.parser, number, &line, &mut take)?;
        }
        let (broken, longest) = (self.lines.broken().map(str::to_owned), self.lines.longest());
        Ok(LineCounts { broken, longest, late: pass.order.late(), ..pass.counts })
    }
}

impl LineCounts {
    /// Adds the counts of the next file, of this name.
    pub(crate) fn add(&mut self, next: Self, name: &str) {
        self.lines += next.lines;
        self.malformed += next.malformed;
        self.late += next.late;
        self.longest = self.longest.max(next.longest);
        let broken = next.broken.map(|why| format!("{name}: {why}"));
        self.broken = self.broken.take().or(broken);
        let named = next.bad_lines.into_iter().map(|line| line.in_file(name));
        let room = SHOWN.saturating_sub(self.bad_lines.len());
        self.bad_lines.extend(named.take(room));
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

    fn texts(&self) -> Vec<&[u8]> {
        self.lines.iter().map(|(_, line)| line.as_slice()).collect()
    }

    fn parser(
        &self,
        format: Option<AccessLogFormat>,
        map: Option<&LogMap>,
    ) -> Result<(AccessLogFormat, Parser), ReadError> {
        let (number, first) = self.lines.front().ok_or(ReadError::Empty)?;
        let bad = |why| BadLine::new(*number, why, first);
        if let Some((_, by)) = PACKED.iter().find(|(magic, _)| first.starts_with(magic)) {
            return Err(ReadError::Compressed(by));
        }
        let told = || AccessLogFormat::detect(&self.texts(), map);
        let nearest = || AccessLogFormat::nearest(&self.texts());
        let format = format.or_else(told).or_else(nearest);
        let format = format.ok_or_else(|| ReadError::Unknown(bad("no such format")))?;
        let refused = || match format {
            AccessLogFormat::Csv => ReadError::NoColumns(bad("no such columns")),
            _ => ReadError::NoMap(format),
        };
        Ok((format, Parser::new(format, map, first).ok_or_else(refused)?))
    }

    /// The grain of the stamps, if at least half of the lines are attempts.
    fn grain(&self, parser: &mut Parser, format: AccessLogFormat) -> Result<Span, ReadError> {
        let (mut grain, mut malformed, mut of, mut first) = (Span::MAX, 0, 0, None);
        for (number, line) in self.lines.iter().skip(usize::from(parser.has_header())) {
            if parser.is_directive(line) {
                continue;
            }
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
}

/// The counts of lines, while they are read.
struct Pass {
    counts: LineCounts,
    order: LineOrder,
}

impl Pass {
    fn line(
        &mut self,
        parser: &mut Parser,
        number: u64,
        line: &LogLine<'_>,
        take: &mut impl FnMut(LoggedAttempt, bool) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let (text, parsed) = match *line {
            LogLine::Whole(text) if is_blank(text) || parser.is_directive(text) => return Ok(()),
            LogLine::Whole(text) => (text, parser.parse(text)),
            LogLine::TooLong(text) => (text, Err("longer than 256 KiB")),
            LogLine::Cut(text) => (text, Err("the packed file breaks off here")),
        };
        self.counts.lines += 1;
        match parsed {
            Ok(attempt) => take(attempt, self.order.is_late(&attempt))?,
            Err(why) => self.malformed(number, why, text),
        }
        Ok(())
    }

    fn malformed(&mut self, number: u64, why: Malformed, text: &[u8]) {
        self.counts.malformed += 1;
        if self.counts.bad_lines.len() < SHOWN {
            self.counts.bad_lines.push(BadLine::new(number, why, text));
        }
    }
}

fn is_blank(line: &[u8]) -> bool {
    line.trim_ascii().is_empty()
}
