//! The conditions under which counts open a breaker.

use super::window::Counts;
use crate::ratio::Ratio;
use crate::time::Span;

/// Why a breaker opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Trip {
    /// The share of failures in the window reached the plan's ratio.
    FailureRatio,
    /// As many failures in a row as the plan allows, and no success between them.
    Consecutive,
    /// The share of slow calls in the window reached the plan's ratio.
    SlowRatio,
    /// A probe failed, or was slow.
    Probe,
}

/// The rules of a plan; a rule that is `None` is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TripRules {
    pub(super) ratio: Option<Ratio>,
    pub(super) minimum_calls: u32,
    pub(super) consecutive: Option<u32>,
    pub(super) slow: Option<Slow>,
}

/// The slow-call rule: which calls are slow, and which share of them is too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slow {
    pub(super) after: Span,
    pub(super) ratio: Ratio,
}

impl TripRules {
    /// Whether a call of this latency is slow.
    #[inline]
    pub(super) fn is_slow(&self, latency: Span) -> bool {
        self.slow.is_some_and(|slow| latency > slow.after)
    }

    /// The first rule that these counts break. Asked on every settled call, successes included:
    /// the call that reaches the minimum may be a good one.
    #[inline]
    pub(super) fn broken_by(&self, counts: Counts, consecutive: u32) -> Option<Trip> {
        if self.consecutive.is_some_and(|most| consecutive >= most) {
            return Some(Trip::Consecutive);
        }
        if counts.calls < self.minimum_calls {
            return None;
        }
        if self.ratio.is_some_and(|most| reaches(counts.failures, counts.calls, most)) {
            return Some(Trip::FailureRatio);
        }
        let slow = self.slow.is_some_and(|slow| reaches(counts.slow, counts.calls, slow.ratio));
        slow.then_some(Trip::SlowRatio)
    }
}

/// Whether `part` of `calls` is at least `ratio`, without a division and so without rounding.
#[inline]
fn reaches(part: u32, calls: u32, ratio: Ratio) -> bool {
    // OK because both products are below 2^32 * 2^32.
    u64::from(part) * u64::from(Ratio::SCALE) >= u64::from(ratio.ppm()) * u64::from(calls)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: TripRules = TripRules {
        ratio: Some(Ratio::from_percent(50)),
        minimum_calls: 10,
        consecutive: None,
        slow: None,
    };

    fn counts(calls: u32, failures: u32) -> Counts {
        Counts { calls, failures, slow: 0 }
    }

    #[test]
    fn nothing_is_said_below_the_minimum() {
        assert_eq!(HALF.broken_by(counts(9, 9), 9), None);
        assert_eq!(HALF.broken_by(counts(10, 10), 10), Some(Trip::FailureRatio));
    }

    #[test]
    fn the_ratio_itself_is_too_much_and_a_hair_below_is_not() {
        assert_eq!(HALF.broken_by(counts(1_000_000, 499_999), 0), None);
        assert_eq!(HALF.broken_by(counts(1_000_000, 500_000), 0), Some(Trip::FailureRatio));
    }

    #[test]
    fn the_highest_counts_do_not_overflow() {
        let all = TripRules { ratio: Some(Ratio::ONE), ..HALF };
        assert_eq!(all.broken_by(counts(u32::MAX, u32::MAX), 0), Some(Trip::FailureRatio));
        assert_eq!(all.broken_by(counts(u32::MAX, u32::MAX - 1), 0), None);
    }
}
