//! Counting events into buckets of time, and the fullest bucket.

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
}
