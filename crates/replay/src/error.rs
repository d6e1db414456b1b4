//! Reasons to refuse a file as a log.

use std::error::Error;
use std::fmt;
use std::io;

use stagger_core::Span;

use crate::format::AccessLogFormat;

/// A line that is no attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// Its number, from 1.
    pub number: u64,
    /// The flaw.
    pub why: &'static str,
    /// Its first characters.
    pub text: String,
    /// The file that it is in, where there are several.
    pub file: Option<String>,
}

/// The reason why a file was refused.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// It could not be read to its end.
    Io(io::Error),
    /// It has no lines.
    Empty,
    /// It is compressed, by this program, which is not undone on the way.
    Compressed(&'static str),
    /// It is packed by gzip, and breaks off before its first line ends.
    Broken(String),
    /// Its first line is of no format that is known.
    Unknown(BadLine),
    /// It was to be CSV, and its header has no column for a time or none for a status.
    NoColumns(BadLine),
    /// The map names columns, and lines of this format have none to name.
    NoMap(AccessLogFormat),
    /// More than half of its first lines are no attempts.
    WrongFormat {
        /// The format that it was read in.
        format: AccessLogFormat,
        /// Lines among them that are no attempts.
        malformed: u64,
        /// Lines that were looked at.
        of: u64,
        /// The first of them.
        first: BadLine,
    },
    /// One of several files is wrong: its name, and the reason.
    InFile(String, Box<ReadError>),
    /// Its lines are out of order, and more than this.
    TooManyToSort(usize),
    /// It has more first attempts than this.
    TooMany(usize),
    /// More than half of its lines lie outside the longest stretch that is read.
    TooLong(Span),
}

/// The characters of a line that are shown.
const SHOWN: usize = 80;

impl BadLine {
    pub(crate) fn new(number: u64, why: &'static str, line: &[u8]) -> Self {
        let text = String::from_utf8_lossy(&line[..line.len().min(4 * SHOWN)]);
        let shown: String = text.chars().filter(|c| !c.is_control()).take(SHOWN).collect();
        let more = if shown.len() < line.len() { "..." } else { "" };
        Self { number, why, text: format!("{shown}{more}"), file: None }
    }

    pub(crate) fn in_file(self, name: &str) -> Self {
        Self { file: Some(name.to_owned()), ..self }
    }
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.iter().map(|file| format!("{file}, ")).collect::<String>();
        write!(f, "{file}line {}: {}: {}", self.number, self.why, self.text)
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "{error}"),
            Self::Empty => f.write_str("the log has no lines"),
            Self::Compressed(by) => write!(f, "the log is packed by {by}: unpack it first"),
            Self::Broken(why) => {
                write!(
                    f,
                    "the log is packed by gzip and breaks off before its first line ends: {why}"
                )
            }
            Self::Unknown(line) => {
                let names = AccessLogFormat::ALL.map(AccessLogFormat::name).join(", ");
                write!(f, "the format is none of {names}: {line}")
            }
            Self::NoColumns(line) => {
                write!(f, "the header has no time or no status, so a map must name them: {line}")
            }
            Self::NoMap(format) => write!(
                f,
                "lines of the format {format} have no columns to name: a map may only say client=none or id=none"
            ),
            Self::WrongFormat { format, malformed, of, first } => write!(
                f,
                "{malformed} of the first {of} lines are not of the format {format}; {first}"
            ),
            Self::InFile(name, why) => write!(f, "{name}: {why}"),
            Self::TooManyToSort(bound) => write!(
                f,
                "the lines are out of order, and at most {bound} attempts are sorted: cut out the hours \
                 in question, or sort the lines by time first"
            ),
            Self::TooMany(bound) => {
                write!(
                    f,
                    "the log has more than {bound} first attempts: cut out the hours in question"
                )
            }
            Self::TooLong(bound) => write!(
                f,
                "more than half of the log lies further than {bound} from its first attempt: \
                 cut out the hours in question"
            ),
        }
    }
}

impl Error for ReadError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::InFile(_, why) => Some(why),
            _ => None,
        }
    }
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
