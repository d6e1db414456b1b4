//! From attempts in the order of their lines to counts in the order of time.

use std::sync::Arc;

use stagger_core::{Instant, Span};
use stagger_sim::Latency;

use crate::access_log::{AccessLog, MemoryPeak};
use crate::cells::{Cells, LONGEST};
use crate::chance_matches::PART;
use crate::error::ReadError;
use crate::format::AccessLogFormat;
use crate::logged_attempt::LoggedAttempt;
use crate::logged_attempt::LoggedOutcome;
use crate::open_calls::OpenCalls;
use crate::spread::Spread;
use crate::stamp::Stamp;
use crate::thresholds::OutageThresholds;

/// First attempts at most: 8 bytes each, twice for a moment at the end.
pub(crate) const MOST_FIRSTS: usize = 50_000_000;
/// The time before the first line in which others may have begun: lines are written at the end of a request.
const EARLIER: Span = Span::from_secs(3_600);
/// Attempts behind one line that are believed.
const MOST_BEHIND: u32 = 64;

/// Counts attempts.
#[derive(Debug)]
pub(crate) struct AttemptCollector {
    spread: Spread,
    counts: LogCounts,
}

/// The counts of attempts whose places are settled.
#[derive(Debug)]
struct LogCounts {
    grain: Span,
    /// From when on time is counted, since the epoch; set by the first attempt.
    base: Option<Span>,
    calls: OpenCalls,
    cells: Cells,
    firsts: Vec<Instant>,
    /// The backend's time for served attempts, and the callers' for attempts that hung.
    service: Latency,
    patience: Latency,
    served: u64,
    timed: u64,
    at_end: u64,
    behind: u64,
    outside: u64,
    total: u64,
}

impl AttemptCollector {
    /// For stamps that are this far apart.
    pub(crate) fn new(grain: Span) -> Self {
        let counts = LogCounts {
            grain,
            base: None,
            calls: OpenCalls::default(),
            cells: Cells::default(),
            firsts: Vec::new(),
            service: Latency::default(),
            patience: Latency::default(),
            served: 0,
            timed: 0,
            at_end: 0,
            behind: 0,
            outside: 0,
            total: 0,
        };
        Self { spread: Spread::new(grain), counts }
    }

    /// Takes the next attempt of the log.
    pub(crate) fn push(&mut self, attempt: LoggedAttempt) -> Result<(), ReadError> {
        let counts = &mut self.counts;
        self.spread.push(attempt, |settled| counts.count(&settled));
        self.bounded()
    }

    const fn bounded(&self) -> Result<(), ReadError> {
        if self.counts.firsts.len() > MOST_FIRSTS {
            return Err(ReadError::TooMany(MOST_FIRSTS));
        }
        Ok(())
    }

    /// Takes an attempt whose stamp is as fine as it gets, in the order of ends.
    pub(crate) fn push_settled(&mut self, attempt: &LoggedAttempt) -> Result<(), ReadError> {
        self.counts.count(attempt);
        self.bounded()
    }

    /// The finished log.
    pub(crate) fn finish(
        mut self,
        format: AccessLogFormat,
        line: usize,
        thresholds: &OutageThresholds,
    ) -> Result<AccessLog, ReadError> {
        let counts = &mut self.counts;
        self.spread.finish(|settled| counts.count(&settled));
        let peak = MemoryPeak {
            line,
            waiting: self.spread.most_held(),
            failures: self.counts.calls.most_held(),
            firsts: self.counts.firsts.len(),
            buckets: self.counts.cells.len(),
        };
        self.counts.finish(format, peak, thresholds)
    }
}

impl LogCounts {
    fn count(&mut self, attempt: &LoggedAttempt) {
        let base = *self.base.get_or_insert_with(|| attempt.began() - EARLIER);
        let is_retry = self.calls.is_retry(attempt, self.grain);
        self.total += 1;
        self.at_end += u64::from(attempt.at_end);
        self.timed += u64::from(attempt.took.is_some());
        let began = attempt.began();
        if began < base || !self.place(attempt, Instant::ORIGIN + (began - base), !is_retry) {
            self.outside += 1;
            return;
        }
        let hung = (attempt.answer == LoggedOutcome::Hung).then_some(attempt.took).flatten();
        hung.into_iter().for_each(|took| self.patience.add(took));
        if attempt.answer == LoggedOutcome::Served {
            self.served += 1;
            if let Some(took) = attempt.worked.or(attempt.took) {
                self.service.add(took);
                self.cells.served(Instant::ORIGIN + (began - base), took);
            }
        }
    }

    /// Counts a line's attempts: one, or as many as a proxy made of it. Those before the last one
    /// failed, and are taken for evenly spread over its time, since nothing says when they were.
    fn place(&mut self, attempt: &LoggedAttempt, began: Instant, is_first: bool) -> bool {
        let behind = attempt.behind.min(MOST_BEHIND);
        let part = attempt.took.unwrap_or_default().as_nanos() / u64::from(behind);
        for number in 0..behind {
            let at = began + Span::from_nanos(part * u64::from(number));
            let is_last = number + 1 == behind;
            let answer = if is_last { attempt.answer } else { LoggedOutcome::Failed };
            if !self.cells.count(at, answer, is_first && number == 0) {
                return false;
            }
            self.behind += u64::from(number > 0);
        }
        if is_first {
            self.firsts.push(began);
        }
        true
    }

    fn finish(
        mut self,
        format: AccessLogFormat,
        peak: MemoryPeak,
        thresholds: &OutageThresholds,
    ) -> Result<AccessLog, ReadError> {
        if 2 * self.outside > self.total {
            return Err(ReadError::TooLong(LONGEST));
        }
        let (cells, dropped) = self.cells.trimmed();
        self.firsts.sort_unstable();
        let origin = Instant::ORIGIN + dropped;
        let firsts: Arc<[Instant]> =
            self.firsts.iter().map(|&at| Instant::ORIGIN + (at - origin)).collect();
        let since_epoch = self.base.unwrap_or_default() + dropped;
        let outages = thresholds.find(&cells, self.grain);
        let healthy = |part: Span| {
            let from = Instant::ORIGIN + (part - since_epoch);
            let until = from + PART;
            outages.iter().all(|outage| until <= outage.from || outage.until <= from)
        };
        Ok(AccessLog {
            format,
            began: Stamp { since_epoch, grain: self.grain },
            stamped_at_end: 2 * self.at_end > self.total,
            lines: 0,
            malformed: 0,
            bad_lines: Vec::new(),
            broken: None,
            outside: self.outside,
            late: 0,
            sorted: false,
            left_out: 0,
            evidence: self.calls.evidence(),
            chance_match: self
                .calls
                .chance
                .rate(healthy)
                .or_else(|| self.calls.chance.rate(|_| true)),
            retries: self.calls.counts.law(self.grain),
            timed: self.timed,
            behind: self.behind,
            service: self.service.quantile(0.5),
            patience: self.patience.quantile(0.5),
            bucket: thresholds.rule(&cells, self.grain).width(),
            trouble: outages.clone(),
            outages,
            firsts,
            cells,
            peak,
        })
    }
}
