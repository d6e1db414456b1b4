//! Reading a log: one pass over lines in the order of time, and a second one to sort those that are not.

use std::fmt;
use std::io;
use std::io::BufRead;

use stagger_core::Span;

use crate::access_log::AccessLog;
use crate::attempt_collector::AttemptCollector;
use crate::error::ReadError;
use crate::format::{AccessLogFormat, LogMap};
use crate::line_order::LineOrder;
use crate::log_file::{LineCounts, LogFile};
use crate::logged_attempt::{CallerIdentity, LoggedAttempt};
use crate::spread::Spread;
use crate::stamp::Stamp;
use crate::thresholds::OutageThresholds;

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
    /// The way to tell retries where neither a number nor an id is written.
    pub retries: RetryRule,
    /// The start of the stretch that is read; the start of the log when `None`.
    pub from: Option<Stamp>,
    /// The end of that stretch, excluded.
    pub until: Option<Stamp>,
    /// The bounds of outages.
    pub thresholds: OutageThresholds,
}

/// The way to tell retries where neither a number nor an id is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RetryRule {
    /// By the client and its request.
    #[default]
    Guess,
    /// Not at all: every attempt is a first one.
    None,
}

/// A file that can be read more than once.
pub struct LogInput<'a> {
    /// Its name, for errors.
    pub name: String,
    /// Opens it from its start.
    pub open: Box<dyn Fn() -> io::Result<Box<dyn BufRead + 'a>> + 'a>,
}

impl fmt::Debug for LogInput<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogInput").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Attempts that are sorted at most: 100 bytes each.
const MOST_SORTED: usize = 10_000_000;

impl Reading {
    /// Reads a log to its end, unpacking it on the way where it is packed by gzip.
    ///
    /// Of a packed log that was cut off, what is there is read: [`AccessLog::broken`] says so then.
    /// Malformed lines are counted, and the first of them are kept to be shown. At most a line of
    /// 256 KiB, some seconds of attempts, failures of some minutes, and 8 bytes for each first
    /// attempt are held in memory, besides 24 bytes for every 50 ms of the log: see
    /// [`MemoryPeak`](crate::MemoryPeak). Lines that are not in the order of time are counted
    /// ([`AccessLog::late`]) and taken as they come; [`read_files`](Self::read_files) sorts them.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn read(&self, input: impl BufRead) -> Result<AccessLog, ReadError> {
        let file = LogFile::open(input, self.format, self.map.as_ref())?;
        let format = file.format;
        let mut pass = InOrder::new(self, file.grain);
        let counts = file.each(|attempt, _| pass.take(attempt))?;
        pass.finish(format, counts)
    }

    /// Reads one log out of several files, such as those of several nodes or of a rotation.
    ///
    /// If lines come late in a file, or files overlap, all attempts are sorted by time in a second pass:
    /// 10 million at most, of 100 bytes each.
    ///
    /// # Errors
    /// See [`ReadError`]; the file is named in it where there are several.
    pub fn read_files(&self, files: &[LogInput<'_>]) -> Result<AccessLog, ReadError> {
        let named = |file: &LogInput<'_>, why| match files.len() {
            1 => why,
            _ => ReadError::InFile(file.name.clone(), Box::new(why)),
        };
        let mut first: Option<(AccessLogFormat, InOrder<'_>)> = None;
        let (mut counts, mut order) = (LineCounts::default(), LineOrder::default());
        let (mut grain, mut is_broken) = (Span::ZERO, false);
        for file in files {
            let log = self.open(file).map_err(|why| named(file, why))?;
            is_broken |= first.is_some() && log.grain != grain;
            grain = grain.max(log.grain);
            let (_, pass) = first.get_or_insert_with(|| (log.format, InOrder::new(self, grain)));
            let take = |attempt, _| {
                is_broken |= order.is_late(&attempt);
                pass.take(attempt)
            };
            let own = log.each(take).map_err(|why| named(file, why))?;
            if files.len() == 1 { counts = own } else { counts.add(own, &file.name) }
        }
        let (format, pass) = first.ok_or(ReadError::Empty)?;
        match is_broken {
            false => pass.finish(format, counts),
            true => self.sorted(files, format, grain, counts),
        }
    }

    fn open<'a>(&self, file: &LogInput<'a>) -> Result<LogFile<Box<dyn BufRead + 'a>>, ReadError> {
        LogFile::open((file.open)()?, self.format, self.map.as_ref())
    }

    /// The second pass: all attempts sorted by their ends.
    fn sorted(
        &self,
        files: &[LogInput<'_>],
        format: AccessLogFormat,
        grain: Span,
        counts: LineCounts,
    ) -> Result<AccessLog, ReadError> {
        let mut all: Vec<LoggedAttempt> = Vec::new();
        let mut left_out = 0;
        for file in files {
            let log = self.open(file)?;
            // Each stretch that is in order is spread by itself, as if it were a file of its own.
            let mut spread = Spread::new(log.grain);
            log.each(|attempt, is_late| {
                if is_late {
                    std::mem::replace(&mut spread, Spread::new(grain)).finish(|it| all.push(it));
                }
                match self.admitted(attempt) {
                    Some(attempt) => spread.push(attempt, |settled| all.push(settled)),
                    None => left_out += 1,
                }
                if all.len() > MOST_SORTED {
                    return Err(ReadError::TooManyToSort(MOST_SORTED));
                }
                Ok(())
            })?;
            spread.finish(|settled| all.push(settled));
        }
        all.sort_by_key(LoggedAttempt::ended);
        let mut collector = AttemptCollector::new(grain);
        all.iter().try_for_each(|attempt| collector.push_settled(attempt))?;
        let log = collector.finish(format, counts.longest, &self.thresholds)?;
        Ok(AccessLog { sorted: true, ..counted(log, counts, left_out) })
    }

    /// The attempt, if it lies in the stretch that was asked for, with no more than may be known of
    /// its caller.
    fn admitted(&self, attempt: LoggedAttempt) -> Option<LoggedAttempt> {
        let began = attempt.began();
        let is_early = self.from.is_some_and(|from| began < from.since_epoch);
        let is_over = self.until.is_some_and(|until| began >= until.since_epoch);
        let caller = match (self.retries, attempt.caller) {
            (RetryRule::None, CallerIdentity::Request(_)) => CallerIdentity::Unknown,
            (_, caller) => caller,
        };
        (!is_early && !is_over).then_some(LoggedAttempt { caller, ..attempt })
    }
}

/// A pass that counts attempts as they come.
#[derive(Debug)]
struct InOrder<'r> {
    reading: &'r Reading,
    collector: AttemptCollector,
    left_out: u64,
}

impl<'r> InOrder<'r> {
    fn new(reading: &'r Reading, grain: Span) -> Self {
        Self { reading, collector: AttemptCollector::new(grain), left_out: 0 }
    }

    fn take(&mut self, attempt: LoggedAttempt) -> Result<(), ReadError> {
        let Some(attempt) = self.reading.admitted(attempt) else {
            self.left_out += 1;
            return Ok(());
        };
        self.collector.push(attempt)
    }

    fn finish(self, format: AccessLogFormat, counts: LineCounts) -> Result<AccessLog, ReadError> {
        let log = self.collector.finish(format, counts.longest, &self.reading.thresholds)?;
        Ok(counted(log, counts, self.left_out))
    }
}

fn counted(log: AccessLog, counts: LineCounts, left_out: u64) -> AccessLog {
    let LineCounts { lines, malformed, bad_lines, broken, late, .. } = counts;
    AccessLog { lines, malformed, bad_lines, broken, late, left_out, ..log }
}
