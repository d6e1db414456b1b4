//! A decaying histogram of latencies, in integers and in one kilobyte.

use crate::ratio::Ratio;
use crate::time::{Instant, Span};

/// Binary digits kept below the leading one: eight buckets to an octave, so that a bucket is at
/// most an eighth wider than its lower edge.
const DIGITS: u32 = 3;
/// Shortest latency told apart, as a power of two: 2^13 ns, about 8 us, below which no hedge pays.
const LOWEST: u32 = 13;
/// Octaves above it: up to 2^42 ns, about 73 min, longer than any hedge waits.
const OCTAVES: u32 = 29;
const BUCKETS: usize = (OCTAVES << DIGITS) as usize;
/// The weight of one latency, which is halved eight times before it reaches zero.
const WEIGHT: u32 = 256;
/// Latencies, at full weight, below which no quantile is named: with fewer, a p95 is chance.
const ENOUGH: u64 = 20;

/// The latencies of the calls to one destination, in which the past counts half as much with
/// every half-life.
///
/// ```
/// use stagger_core::hedge::Latencies;
/// use stagger_core::{Instant, Ratio, Span};
/// let mut latencies = Latencies::new(Span::from_secs(30));
/// for ms in 1..=100 {
///     latencies.record(Instant::ORIGIN, Span::from_millis(ms));
/// }
/// let p95 = latencies.quantile(Ratio::from_percent(95)).expect("a hundred are enough");
/// assert!(Span::from_millis(95) <= p95 && p95 <= Span::from_millis(107));
/// ```
#[derive(Clone, Debug)]
pub struct Latencies {
    weights: [u32; BUCKETS],
    total: u64,
    half_life: Span,
    next_halving: Option<Instant>,
}

impl Latencies {
    /// None yet; what is recorded counts half after each `half_life` (at least one nanosecond).
    #[must_use]
    pub fn new(half_life: Span) -> Self {
        let half_life = half_life.max(Span::from_nanos(1));
        Self { weights: [0; BUCKETS], total: 0, half_life, next_halving: None }
    }

    /// Counts a latency. Losers that were cancelled should be left out: nobody knows their latency.
    pub fn record(&mut self, now: Instant, latency: Span) {
        self.fade(now);
        let weight = &mut self.weights[bucket(latency)];
        // A full bucket takes no more until the next halving, so the total stays the exact sum.
        if let Some(more) = weight.checked_add(WEIGHT) {
            *weight = more;
            self.total += u64::from(WEIGHT);
        }
    }

    /// The latency that this share of the calls did not exceed, rounded up to the end of its
    /// bucket (at most an eighth); `None` while too few are known.
    #[must_use]
    pub fn quantile(&self, share: Ratio) -> Option<Span> {
        if self.total < ENOUGH * u64::from(WEIGHT) {
            return None;
        }
        let rank = share.of(self.total).clamp(1, self.total);
        let mut seen = 0;
        let at = self.weights.iter().position(|weight| {
            seen += u64::from(*weight);
            seen >= rank
        });
        at.map(upper_edge)
    }

    /// Halves all weights once for each half-life that has passed.
    fn fade(&mut self, now: Instant) {
        let due = *self.next_halving.get_or_insert(now + self.half_life);
        if now < due {
            return;
        }
        let halvings = 1 + (now - due).as_nanos() / self.half_life.as_nanos();
        // OK because a weight has 32 digits: more halvings than 31 leave nothing.
        let digits = u32::try_from(halvings).unwrap_or(u32::MAX);
        for weight in &mut self.weights {
            *weight = weight.checked_shr(digits).unwrap_or(0);
        }
        self.total = self.weights.iter().map(|weight| u64::from(*weight)).sum();
        self.next_halving = Some(due + self.half_life.saturating_mul(halvings));
    }
}

/// The bucket of a latency: its octave, then its next three binary digits.
fn bucket(latency: Span) -> usize {
    let nanos = latency.as_nanos().max(1 << LOWEST);
    let octave = nanos.ilog2();
    let digits = (nanos >> (octave - DIGITS)) & ((1 << DIGITS) - 1);
    // OK because an octave is below 64 and the digits below 8.
    #[expect(clippy::cast_possible_truncation, reason = "below 512")]
    let index = (u64::from((octave - LOWEST) << DIGITS) + digits) as usize;
    index.min(BUCKETS - 1)
}

/// The longest latency in a bucket.
fn upper_edge(bucket: usize) -> Span {
    // The lower edge of the next bucket, less one nanosecond.
    let next = bucket as u64 + 1;
    let (octave, digits) = (next >> DIGITS, next & ((1 << DIGITS) - 1));
    let lower = ((1 << DIGITS) + digits) << (octave + u64::from(LOWEST - DIGITS));
    Span::from_nanos(lower - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_latency_is_below_the_edge_of_its_bucket_and_near_it() {
        for shift in LOWEST..LOWEST + OCTAVES {
            for nanos in [1_u64 << shift, (1 << shift) + 1, (1 << shift) * 5 / 3, (2 << shift) - 1]
            {
                let edge = upper_edge(bucket(Span::from_nanos(nanos))).as_nanos();
                assert!(nanos <= edge && edge - nanos <= nanos / 8, "{nanos} in {edge}");
            }
        }
        assert_eq!(bucket(Span::ZERO), 0);
        assert_eq!(bucket(Span::MAX), BUCKETS - 1);
    }

    #[test]
    fn an_old_incident_is_forgotten() {
        let mut latencies = Latencies::new(Span::from_secs(10));
        let at = |s| Instant::ORIGIN + Span::from_secs(s);
        for _ in 0..1000 {
            latencies.record(at(0), Span::from_secs(5));
        }
        for s in 1..=200 {
            for _ in 0..10 {
                latencies.record(at(s), Span::from_millis(10));
            }
        }
        let p95 = latencies.quantile(Ratio::from_percent(95));
        assert!(p95.is_some_and(|p95| p95 < Span::from_millis(12)), "{p95:?}");
        latencies.record(Instant::FAR, Span::from_millis(10));
        assert_eq!(latencies.quantile(Ratio::from_percent(95)), None, "all but one have faded");
    }

    #[test]
    fn a_full_bucket_keeps_the_total_exact() {
        let mut latencies = Latencies::new(Span::MAX);
        latencies.weights[0] = u32::MAX;
        latencies.total = u64::from(u32::MAX);
        latencies.record(Instant::ORIGIN, Span::ZERO);
        assert_eq!(latencies.total, u64::from(u32::MAX));
        assert_eq!(latencies.quantile(Ratio::from_percent(50)), Some(upper_edge(0)));
    }
}
