//! When callers make their first attempt.

use stagger_core::{Instant, Span};

use crate::dist::exponential;
use crate::streams::{Purpose, Stream};

/// A rule for first attempts, always in order of time.
///
/// ```
/// use stagger_core::Span;
/// use stagger_sim::Arrivals;
/// let even = Arrivals::Even { callers: 3, spacing: Span::from_millis(2) };
/// let times: Vec<_> = even.times(1).map(|at| at.as_nanos()).collect();
/// assert_eq!(times, [0, 2_000_000, 4_000_000]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// Everybody at the origin: one reset, one restart, one full minute of cron.
    Together {
        /// How many.
        callers: u32,
    },
    /// One every `spacing`, the first at the origin.
    Even {
        /// How many.
        callers: u32,
        /// The time between two of them.
        spacing: Span,
    },
    /// A Poisson process.
    Poisson {
        /// The mean time between two of them; zero is read as a nanosecond.
        gap: Span,
        /// No first attempt at or after this.
        until: Instant,
    },
}

impl Arrivals {
    /// The times of first attempts under this seed.
    #[must_use]
    pub const fn times(self, seed: u64) -> Times {
        let gaps = Stream::new(seed, Purpose::Arrival);
        Times { rule: self, gaps, made: 0, last: Instant::ORIGIN }
    }
}

/// The first attempts, one after the other; at most `u32::MAX`, because that many ids exist.
#[derive(Clone, Debug)]
pub struct Times {
    rule: Arrivals,
    gaps: Stream,
    made: u32,
    last: Instant,
}

impl Iterator for Times {
    type Item = Instant;

    #[inline]
    fn next(&mut self) -> Option<Instant> {
        let id = self.made;
        self.made = id.checked_add(1)?;
        match self.rule {
            Arrivals::Together { callers } => (id < callers).then_some(Instant::ORIGIN),
            Arrivals::Even { callers, spacing } => {
                (id < callers).then(|| Instant::ORIGIN + spacing.saturating_mul(u64::from(id)))
            }
            Arrivals::Poisson { gap, until } => {
                let gap = exponential(gap.max(Span::from_nanos(1)), &mut self.gaps.at(id, 0));
                self.last = self.last + gap;
                (self.last < until).then_some(self.last)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poisson_process_brings_its_rate_in_order() {
        let rule =
            Arrivals::Poisson { gap: Span::from_millis(2), until: Instant::from_nanos(60 << 30) };
        let times: Vec<Instant> = rule.times(5).collect();
        assert!(times.is_sorted());
        // 64.4 s at 500 a second: 32212, give or take six sd of 179.
        assert!(times.len().abs_diff(32_212) < 1_100, "{}", times.len());
        assert_ne!(rule.times(5).next(), rule.times(6).next());
    }
}
