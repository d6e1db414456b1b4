//! Counts in buckets of time, levels at their ends, single instants, and latencies.

use stagger_core::{Instant, Span};

use crate::plan::Stretch;

/// Width of the lab's buckets: the 50 ms of the reference tables.
pub const BUCKET: Span = Span::from_millis(50);

/// Buckets kept for the picture, 205 s of them; what comes later still counts for the peak.
pub const KEPT_BUCKETS: usize = 4096;

/// Buckets in a second.
pub(crate) const PER_SECOND: f64 = 20.0;

/// Counts of events in buckets of [`BUCKET`], and the largest count.
///
/// One bucket edge lies on `edge`, so that no bucket holds both sides of it. Events must come in
/// order of time.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    peak_in: Stretch,
    /// Time by which buckets are shifted so that an edge lies where it was asked for.
    shift: u64,
    bucket: u64,
    /// Start of the bucket after the current one.
    end: u64,
    count: u64,
    peak: u64,
    total: u64,
    kept: Vec<u64>,
}

impl Meter {
    /// A meter with a bucket edge on `edge`, whose peak is looked for in `peak_in`.
    #[must_use]
    pub(crate) fn new(edge: Instant, peak_in: Stretch) -> Self {
        let width = BUCKET.as_nanos();
        let shift = (width - edge.as_nanos() % width) % width;
        let end = width - shift;
        Self { peak_in, shift, bucket: 0, end, count: 0, peak: 0, total: 0, kept: Vec::new() }
    }

    /// Counts one event.
    #[inline]
    pub(crate) fn count(&mut self, at: Instant) {
        if at.as_nanos() >= self.end {
            self.turn_to(at);
        }
        self.count += 1;
    }

    /// Closes the last bucket and gives the counts.
    #[must_use]
    pub(crate) fn finish(mut self) -> MeterCounts {
        self.close();
        MeterCounts { peak: self.peak, total: self.total, buckets: self.kept }
    }

    #[cold]
    fn turn_to(&mut self, at: Instant) {
        self.close();
        let width = BUCKET.as_nanos();
        self.bucket = at.as_nanos().saturating_add(self.shift) / width;
        self.end = ((self.bucket + 1).saturating_mul(width)).saturating_sub(self.shift);
    }

    fn close(&mut self) {
        let start = (self.bucket * BUCKET.as_nanos()).saturating_sub(self.shift);
        if self.peak_in.from.as_nanos() <= start && start < self.peak_in.until.as_nanos() {
            self.peak = self.peak.max(self.count);
        }
        self.total += self.count;
        match usize::try_from(self.bucket) {
            Ok(index) if index < KEPT_BUCKETS && self.count > 0 => {
                self.kept.resize(self.kept.len().max(index + 1), 0);
                self.kept[index] += self.count;
            }
            _ => {}
        }
        self.count = 0;
    }
}

/// Counts of events in buckets of [`BUCKET`], and the largest of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeterCounts {
    /// The largest count of one bucket within the stretch asked for.
    pub peak: u64,
    /// All events.
    pub total: u64,
    /// Counts per bucket from the origin; only the first 205 s are kept.
    pub buckets: Vec<u64>,
}

/// Levels at the end of each bucket of [`BUCKET`] from the origin on.
#[derive(Clone, Debug)]
pub(crate) struct Track {
    pub(crate) queued: u64,
    pub(crate) retrying: u64,
    /// The most that was ever queued.
    pub(crate) queued_most: u64,
    end: Instant,
    kept: Vec<(u64, u64)>,
}

impl Track {
    pub(crate) fn new() -> Self {
        Self {
            queued: 0,
            retrying: 0,
            queued_most: 0,
            end: Instant::ORIGIN + BUCKET,
            kept: Vec::new(),
        }
    }

    /// Closes all buckets that end at or before `now`.
    #[inline]
    pub(crate) fn advance(&mut self, now: Instant) {
        if now >= self.end {
            self.close(now);
        }
    }

    #[inline]
    pub(crate) fn enqueue(&mut self) {
        self.queued += 1;
        self.queued_most = self.queued_most.max(self.queued);
    }

    pub(crate) fn finish(self) -> Vec<(u64, u64)> {
        self.kept
    }

    #[cold]
    fn close(&mut self, now: Instant) {
        while now >= self.end && self.kept.len() < KEPT_BUCKETS {
            self.kept.push((self.queued, self.retrying));
            self.end = self.end + BUCKET;
        }
        if self.kept.len() == KEPT_BUCKETS {
            self.end = Instant::FAR;
        }
    }
}

/// The instants of attempts, thinned evenly over callers when there are too many to draw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strip {
    instants: Vec<(u32, Instant)>,
    /// Callers whose number has one of these bits are left out.
    mask: u32,
}

/// More dots than this are one black bar on any screen.
const MAX_DOTS: usize = 20_000;

impl Strip {
    /// The attempts of a run that was observed elsewhere, in order, each with the number of its caller.
    pub fn of(attempts: impl IntoIterator<Item = (u32, Instant)>) -> Self {
        let mut strip = Self::default();
        attempts.into_iter().for_each(|(id, at)| strip.note(id, at));
        strip
    }

    /// Notes an attempt of this caller.
    #[inline]
    pub(crate) fn note(&mut self, id: u32, at: Instant) {
        if id & self.mask == 0 {
            self.instants.push((id, at));
            if self.instants.len() > MAX_DOTS {
                self.thin();
            }
        }
    }

    /// The instants in order, and one caller in how many they are of.
    pub fn instants(&self) -> (impl Iterator<Item = Instant> + '_, u32) {
        (self.instants.iter().map(|&(_, at)| at), self.mask + 1)
    }

    /// The same instants, each with the number of its caller.
    pub fn attempts(&self) -> impl Iterator<Item = (u32, Instant)> + '_ {
        self.instants.iter().map(|&(id, at)| (id, at))
    }

    #[cold]
    fn thin(&mut self) {
        while self.instants.len() > MAX_DOTS / 2 && self.mask < u32::MAX / 2 {
            self.mask = 2 * self.mask + 1;
            self.instants.retain(|&(id, _)| id & self.mask == 0);
        }
    }
}

/// Latencies in buckets that are at most 1/32 of their value wide.
///
/// Whole numbers, so that histograms of many runs can be added in any order.
///
/// ```
/// use stagger_core::Span;
/// use stagger_sim::Latency;
/// let mut seen = Latency::default();
/// for ms in 1..=100 {
///     seen.add(Span::from_millis(ms));
/// }
/// let median = seen.quantile(0.5).expect("a hundred calls").as_secs_f64();
/// assert!((0.050..0.053).contains(&median));
/// assert_eq!(seen.within(Span::from_millis(40)), 40);
/// assert_eq!(Latency::default().quantile(0.5), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    counts: Vec<u64>,
    total: u64,
}

/// Buckets in one doubling.
const STEPS: u64 = 32;

impl Latency {
    /// Adds one call.
    #[inline]
    pub fn add(&mut self, took: Span) {
        let index = index(took.as_nanos());
        if index >= self.counts.len() {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] += 1;
        self.total += 1;
    }

    /// Adds what another histogram holds.
    pub fn merge(&mut self, other: &Self) {
        self.counts.resize(self.counts.len().max(other.counts.len()), 0);
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, count)| *sum += count);
        self.total += other.total;
    }

    /// The calls that took at most `limit`: a bucket counts if its lower end does, so that up to 3 % more
    /// than the limit passes.
    #[must_use]
    pub fn within(&self, limit: Span) -> u64 {
        let buckets = index(limit.as_nanos()).saturating_add(1).min(self.counts.len());
        self.counts[..buckets].iter().sum()
    }

    /// The value that this share of calls did not exceed: the upper end of its bucket.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<Span> {
        #[expect(clippy::cast_precision_loss, reason = "a rank among at most 2^53 calls")]
        let rank = (share * self.total as f64).ceil();
        let mut seen = 0;
        for (index, &count) in self.counts.iter().enumerate() {
            seen += count;
            #[expect(clippy::cast_precision_loss, reason = "a rank among at most 2^53 calls")]
            if count > 0 && seen as f64 >= rank {
                return Some(Span::from_nanos(upper_end(index as u64)));
            }
        }
        None
    }
}

/// Values below `STEPS` have a bucket each, and each doubling above has `STEPS` of them.
#[inline]
fn index(nanos: u64) -> usize {
    let doubling = u64::from(u64::BITS - 1 - (nanos | 1).leading_zeros());
    let shift = doubling.saturating_sub(u64::from(STEPS.trailing_zeros()));
    // OK because at most 64 doublings of 32 steps are 2048 buckets.
    usize::try_from(shift * STEPS + (nanos >> shift)).unwrap_or(usize::MAX)
}

fn upper_end(index: u64) -> u64 {
    let shift = (index / STEPS).saturating_sub(1);
    let step = index - shift * STEPS;
    ((step + 1) << shift).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(ms: u64) -> Instant {
        Instant::ORIGIN + Span::from_millis(ms)
    }

    fn counts(mut meter: Meter, times: &[u64]) -> MeterCounts {
        for &ms in times {
            meter.count(millis(ms));
        }
        meter.finish()
    }

    #[test]
    fn a_bucket_holds_its_start_and_not_its_end() {
        let meter = Meter::new(Instant::ORIGIN, Stretch::ALWAYS);
        let counts = counts(meter, &[0, 49, 50, 99, 99, 200]);
        assert_eq!(counts, MeterCounts { peak: 3, total: 6, buckets: vec![2, 3, 0, 0, 1] });
    }

    #[test]
    fn an_edge_off_the_grid_still_parts_before_from_after() {
        let after = Stretch { from: millis(210), until: Instant::FAR };
        let counts = counts(Meter::new(millis(210), after), &[205, 206, 207, 210, 259, 260]);
        assert_eq!((counts.peak, counts.total), (2, 6));
    }

    #[test]
    fn the_end_of_time_is_counted_too() {
        let mut meter = Meter::new(millis(1), Stretch::ALWAYS);
        meter.count(Instant::FAR);
        meter.count(Instant::FAR);
        assert_eq!(meter.finish().total, 2);
    }

    #[test]
    fn every_value_lies_in_the_bucket_that_its_index_names() {
        let mut last = 0;
        for nanos in (0..10_000).chain((0..60).map(|bit| (1 << bit) + 12_345)) {
            let (index, above) = (index(nanos) as u64, index(nanos + nanos / 31 + 1) as u64);
            assert!(nanos <= upper_end(index), "{nanos}");
            assert!(index == 0 || upper_end(index - 1) < nanos, "{nanos}");
            assert!(above > index, "at most 1/32 wide: {nanos}");
            if nanos < 10_000 {
                assert!(index >= last);
                last = index;
            }
        }
    }
}
