//! The latency of calls, as a histogram that can be added up.

use stagger_core::Span;

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
