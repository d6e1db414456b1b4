//! Counts in buckets of 50 ms, and durations in seconds.

use stagger_core::{Instant, Ratio, Span};
use stagger_sim::BUCKET;

use crate::durations::Durations;
use crate::logged_attempt::LoggedOutcome;

/// The longest log that is read, from its first attempt on: 3.5 million buckets, about 80 MB. A
/// storm is a matter of hours.
pub(crate) const LONGEST: Span = Span::from_secs(48 * 3_600);

/// The counts of each bucket, by the time at which attempts began.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cells {
    cells: Vec<BucketCounts>,
    seconds: Vec<Durations>,
}

/// Counts of one bucket, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BucketCounts {
    pub(crate) attempts: u32,
    /// Failures that were answered soon.
    pub(crate) failed: u32,
    /// Failures that hung.
    pub(crate) hung: u32,
    /// First attempts.
    pub(crate) firsts: u32,
    /// First attempts that were served.
    pub(crate) firsts_served: u32,
}

/// Buckets in a second.
const IN_A_SECOND: usize = 20;

impl Cells {
    /// Counts an attempt; `false` if it began after the longest log.
    pub(crate) fn count(&mut self, began: Instant, answer: LoggedOutcome, is_first: bool) -> bool {
        let Some(index) = index(began) else { return false };
        if index >= self.cells.len() {
            self.cells.resize(index + 1, BucketCounts::default());
        }
        let cell = &mut self.cells[index];
        let add = |count: &mut u32, holds: bool| *count = count.saturating_add(u32::from(holds));
        add(&mut cell.attempts, true);
        add(&mut cell.failed, answer == LoggedOutcome::Failed);
        add(&mut cell.hung, answer == LoggedOutcome::Hung);
        add(&mut cell.firsts, is_first);
        add(&mut cell.firsts_served, is_first && answer == LoggedOutcome::Served);
        true
    }

    /// Notes how long an attempt took that was served.
    pub(crate) fn served(&mut self, began: Instant, took: Span) {
        let Some(index) = index(began) else { return };
        let second = index / IN_A_SECOND;
        if second >= self.seconds.len() {
            self.seconds.resize(second + 1, Durations::default());
        }
        self.seconds[second].add(took);
    }

    /// Without the seconds before the first attempt, and how long those are.
    pub(crate) fn trimmed(mut self) -> (Self, Span) {
        let first = self.cells.iter().position(|cell| cell.attempts > 0).unwrap_or(0);
        let seconds = first / IN_A_SECOND;
        self.cells.drain(..seconds * IN_A_SECOND);
        self.seconds.drain(..seconds.min(self.seconds.len()));
        (self, Span::from_secs(seconds as u64))
    }

    /// Buckets in all.
    pub(crate) const fn len(&self) -> usize {
        self.cells.len()
    }

    /// The end of the last bucket.
    pub(crate) fn end(&self) -> Instant {
        instant(self.len())
    }

    /// The buckets that begin in a stretch.
    pub(crate) fn within(&self, from: Instant, until: Instant) -> &[BucketCounts] {
        let place = |at: Instant| usize::try_from(at.as_nanos().div_ceil(BUCKET.as_nanos()));
        let end = place(until).unwrap_or(usize::MAX).min(self.len());
        self.cells.get(place(from).unwrap_or(usize::MAX)..end).unwrap_or_default()
    }

    /// Sums of so many buckets each, from the start on.
    pub(crate) fn sums(&self, buckets: usize) -> Vec<BucketCounts> {
        self.cells.chunks(buckets.max(1)).map(BucketCounts::sum).collect()
    }

    /// Seconds of the minutes in which there was any attempt, and of the log at most.
    pub(crate) fn busy_seconds(&self) -> u64 {
        let minutes = self.cells.chunks(60 * IN_A_SECOND);
        let busy = minutes.filter(|minute| minute.iter().any(|cell| cell.attempts > 0));
        (60 * busy.count()).min(self.len().div_ceil(IN_A_SECOND)) as u64
    }

    /// All buckets.
    pub(crate) fn all(&self) -> &[BucketCounts] {
        &self.cells
    }

    /// Durations second by second.
    pub(crate) fn seconds(&self) -> &[Durations] {
        &self.seconds
    }
}

impl BucketCounts {
    /// All counts together.
    pub(crate) fn sum(cells: &[Self]) -> Self {
        cells.iter().fold(Self::default(), |sum, cell| Self {
            attempts: sum.attempts.saturating_add(cell.attempts),
            failed: sum.failed.saturating_add(cell.failed),
            hung: sum.hung.saturating_add(cell.hung),
            firsts: sum.firsts.saturating_add(cell.firsts),
            firsts_served: sum.firsts_served.saturating_add(cell.firsts_served),
        })
    }

    /// Attempts that failed.
    pub(crate) const fn bad(&self) -> u32 {
        self.failed + self.hung
    }

    /// The share of attempts that failed; zero when there were none.
    pub(crate) fn failing(&self) -> Ratio {
        share(self.bad(), self.attempts)
    }
}

/// `part / whole`; zero when there is no whole.
pub(crate) fn share(part: u32, whole: u32) -> Ratio {
    let ppm = u64::from(part) * u64::from(Ratio::SCALE) / u64::from(whole.max(1));
    Ratio::from_ppm(u32::try_from(ppm).unwrap_or(u32::MAX))
}

/// The start of the bucket of this number.
pub(crate) fn instant(bucket: usize) -> Instant {
    Instant::ORIGIN + BUCKET.saturating_mul(bucket as u64)
}

fn index(at: Instant) -> Option<usize> {
    let is_near = at - Instant::ORIGIN < LONGEST;
    is_near.then(|| usize::try_from(at.as_nanos() / BUCKET.as_nanos()).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_before_the_first_attempt_are_dropped_whole() {
        let mut cells = Cells::default();
        let at = |ms| Instant::ORIGIN + Span::from_millis(ms);
        assert!(cells.count(at(3_270), LoggedOutcome::Hung, true));
        cells.served(at(4_000), Span::from_millis(1));
        assert!(!cells.count(Instant::ORIGIN + LONGEST, LoggedOutcome::Served, true));
        let (cells, dropped) = cells.trimmed();
        assert_eq!(dropped, Span::from_secs(3));
        assert_eq!((cells.len(), cells.within(at(250), at(300)).len()), (6, 1));
        assert_eq!(cells.within(at(250), at(300))[0].bad(), 1);
        assert_eq!(cells.seconds()[1].count(), 1);
    }
}
