//! A backlog that leaves slowly.

use stagger_core::{Instant, Ratio, Span};

/// A paced sender: a backlog whose first attempts leave at a rate that grows.
///
/// The rate grows evenly from a share of `rate` to all of it, and doubles evenly over every further
/// stretch of the same length, which is how the dispatcher lets the backlog of an endpoint go.
///
/// ```
/// use stagger_core::{Ratio, Span};
/// use stagger_sim::{ArrivalProcess, Ramp};
/// let ten_seconds = Span::from_secs(10);
/// let ramp = Ramp {
///     callers: 10_000,
///     from: Ratio::from_percent(10),
///     rate: 100,
///     over: ten_seconds,
///     most: None,
/// };
/// let first_stretch = ArrivalProcess::Ramped(ramp).times(1, 0);
/// let first_stretch = first_stretch.take_while(|&at| at.as_nanos() < ten_seconds.as_nanos());
/// // 55 a second on average.
/// assert!(first_stretch.count().abs_diff(550) < 10);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ramp {
    /// Callers that wait.
    pub callers: u32,
    /// The share of `rate` that it starts with; at least a hundredth.
    pub from: Ratio,
    /// First attempts a second at the end of the first stretch. At least 1.
    pub rate: u32,
    /// The length of a stretch; zero lets all callers go at once.
    pub over: Span,
    /// The most first attempts a second, ever.
    pub most: Option<u32>,
}

/// Parts of a first attempt: rates are counted in millionths of one a second.
const MICROS: u128 = 1_000_000;
/// A start from nothing would never let the first go.
const SLOWEST_START: u128 = 100;
/// Doublings after which any rate is beyond every count.
const MAX_DOUBLINGS: u64 = 40;

impl Ramp {
    /// The time from a first attempt at `now` to the next.
    pub(super) fn gap(&self, now: Instant) -> Span {
        let second = u128::from(Span::from_secs(1).as_nanos());
        let most = self.most.map_or(u128::MAX, |most| u128::from(most.max(1)) * MICROS);
        let Some(rate) = self.rate_at(now - Instant::ORIGIN) else {
            let gap = (second * MICROS).checked_div(most).unwrap_or(0);
            return Span::from_nanos(u64::try_from(gap).unwrap_or(u64::MAX));
        };
        let gap = (second * MICROS).div_ceil(rate.min(most).max(1));
        Span::from_nanos(u64::try_from(gap).unwrap_or(u64::MAX))
    }

    /// Millionths of a first attempt a second; `None` without bound.
    fn rate_at(&self, elapsed: Span) -> Option<u128> {
        let (over, gone) = (self.over.as_nanos(), elapsed.as_nanos());
        let stretch = gone.checked_div(over)?;
        let into = u128::from(gone % over);
        let full = u128::from(self.rate.max(1)) * MICROS;
        let (from, to) = match stretch.checked_sub(1) {
            None => (self.start(full), full),
            Some(doublings) if doublings < MAX_DOUBLINGS => {
                (full << doublings, full << (doublings + 1))
            }
            Some(_) => return None,
        };
        // A start above the end of the stretch is held until the end has caught up.
        Some(from + to.saturating_sub(from) * into / u128::from(over))
    }

    fn start(&self, full: u128) -> u128 {
        let share = full * u128::from(self.from.ppm()) / u128::from(Ratio::SCALE);
        share.max(full / SLOWEST_START)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAMP: Ramp = Ramp {
        callers: 1,
        from: Ratio::from_percent(10),
        rate: 100,
        over: Span::from_secs(10),
        most: None,
    };

    fn gap(ramp: &Ramp, secs: u64) -> Span {
        ramp.gap(Instant::ORIGIN + Span::from_secs(secs))
    }

    #[test]
    fn the_rate_grows_as_the_dispatcher_lets_it() {
        // 10, 55, 100, 150, 200, 400 and 800 a second.
        let found = [0, 5, 10, 15, 20, 30, 40].map(|secs| gap(&RAMP, secs).as_nanos());
        let nanos =
            [100_000_000, 18_181_819, 10_000_000, 6_666_667, 5_000_000, 2_500_000, 1_250_000];
        assert_eq!(found, nanos);
    }

    #[test]
    fn a_bound_holds_for_ever_and_the_edges_neither_divide_by_zero_nor_overflow() {
        let bounded = Ramp { most: Some(300), ..RAMP };
        assert_eq!(gap(&bounded, 60), Span::from_nanos(3_333_334));
        assert_eq!(gap(&bounded, 1_000_000_000), Span::from_nanos(3_333_333));
        assert_eq!(gap(&Ramp { over: Span::ZERO, ..RAMP }, 0), Span::ZERO);
        let slow = Ramp { from: Ratio::ZERO, rate: 0, ..RAMP };
        assert_eq!(gap(&slow, 0), Span::from_secs(100));
        let wide = Ramp { rate: u32::MAX, over: Span::from_nanos(1), ..RAMP };
        assert_eq!(wide.gap(Instant::FAR), Span::ZERO);
    }
}
