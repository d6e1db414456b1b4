//! A log that was read.

use std::sync::Arc;

use stagger_core::{Instant, Ratio, Span};

use crate::cells::{BucketCounts, Cells};
use crate::error::BadLine;
use crate::format::AccessLogFormat;
use crate::open_calls::RetryEvidence;
use crate::outage::InferredOutage;
use crate::retry_law::ObservedRetries;
use crate::stamp::Stamp;
use crate::stated_outage::StatedOutage;

/// A log, as counts.
#[derive(Clone, Debug)]
pub struct AccessLog {
    /// The format that it was read in.
    pub format: AccessLogFormat,
    /// The instant that all others are counted from: up to a second before the first attempt.
    pub began: Stamp,
    /// Whether stamps are of ends.
    pub stamped_at_end: bool,
    /// Lines with anything on them, without the header.
    pub lines: u64,
    /// Lines among them that are no attempts.
    pub malformed: u64,
    /// The first of those.
    pub bad_lines: Vec<BadLine>,
    /// The reason why the packed file ends before its end, if it does: the rest is missing.
    pub broken: Option<String>,
    /// Attempts that lie too far from the first line to be counted.
    pub outside: u64,
    /// Lines that came more than five seconds after a later one of the same file.
    pub late: u64,
    /// Whether the attempts were sorted by time, in a second pass over the files.
    pub sorted: bool,
    /// Attempts outside of the stretch that was asked for.
    pub left_out: u64,
    /// The evidence by which first attempts were told from retries.
    pub evidence: RetryEvidence,
    /// The share of served attempts outside of all outages after which the same client asked for the same
    /// thing within a minute: so many failures would be given a guessed retry by chance. `None` where
    /// nothing was guessed.
    pub chance_match: Option<Ratio>,
    /// The law by which callers came back; `None` where no retry was told.
    pub retries: Option<ObservedRetries>,
    /// Lines that say how long the attempt took.
    pub timed: u64,
    /// Attempts that proxies made behind other lines.
    pub behind: u64,
    /// The median of what an attempt took that was served; of the backend's work alone where that
    /// is written.
    pub service: Option<Span>,
    /// The median of what was waited in vain.
    pub patience: Option<Span>,
    /// The most that was held in memory.
    pub peak: MemoryPeak,
    /// The outages: as inferred, or as the user states them.
    pub(crate) outages: Vec<InferredOutage>,
    /// The findings of the log itself.
    pub(crate) trouble: Vec<InferredOutage>,
    /// The width of the buckets that they were found in.
    pub(crate) bucket: Span,
    pub(crate) firsts: Arc<[Instant]>,
    pub(crate) cells: Cells,
}

/// The most that was held in memory at once, to show that a log of any size is read in the same
/// room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryPeak {
    /// Bytes of a line.
    pub line: usize,
    /// Attempts that waited for the end of their second.
    pub waiting: usize,
    /// Failures that waited for a retry.
    pub failures: usize,
    /// First attempts, 8 bytes each.
    pub firsts: usize,
    /// Buckets of 50 ms, 20 bytes each.
    pub buckets: usize,
}

impl AccessLog {
    /// Attempts in all.
    #[must_use]
    pub fn attempts(&self) -> u64 {
        u64::from(self.all().attempts)
    }

    /// First attempts, that is calls.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.firsts.len() as u64
    }

    /// The times of the first attempts, from the start of the log, in order.
    #[must_use]
    pub fn first_attempts(&self) -> &[Instant] {
        &self.firsts
    }

    /// Stretches of trouble in order: as inferred, or as stated.
    #[must_use]
    pub fn outages(&self) -> &[InferredOutage] {
        &self.outages
    }

    /// An instant of the log on the wall clock.
    #[must_use]
    pub fn wall(&self, at: Instant) -> Stamp {
        Stamp { since_epoch: self.began.since_epoch + (at - Instant::ORIGIN), ..self.began }
    }

    /// The trouble that the log shows, and the stated one.
    pub(crate) fn all_trouble(&self) -> impl Iterator<Item = &InferredOutage> {
        self.outages.iter().chain(&self.trouble)
    }

    /// The same log, whose faults are these and no others.
    ///
    /// All other failures in it then follow from the faults.
    #[must_use]
    pub fn with_outages(self, stated: &[StatedOutage]) -> Self {
        let mut outages: Vec<InferredOutage> =
            stated.iter().map(|outage| outage.within(self.began, &self.cells)).collect();
        outages.sort_unstable_by_key(|outage| outage.from);
        Self { outages, ..self }
    }

    fn all(&self) -> BucketCounts {
        BucketCounts::sum(self.cells.within(Instant::ORIGIN, Instant::FAR))
    }
}
