//! The hint of one call, kept by all calls to the same destination.

use crate::time::{Instant, Span};

/// 2^64 divided by the golden ratio. Its multiples, modulo 2^64, are spread evenly however many of
/// them there are (Knuth, The Art of Computer Programming, volume 3, section 6.4, theorem S).
const GOLDEN_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A destination's request that its callers stay away, with a start for each of them afterwards.
///
/// Callers that are held until one instant would meet there. So each is given an instant of its own
/// within `spread` after the end, evenly apart from the others. Where that begins is drawn at random,
/// so that processes that were given the same hint do not meet either.
///
/// ```
/// use stagger_core::hint::DestinationPause;
/// use stagger_core::{Instant, Span};
/// let mut pause = DestinationPause::NONE;
/// let now = Instant::ORIGIN;
/// assert_eq!(pause.start_of_next(now), None, "nothing is known against a start");
///
/// pause.extend(now + Span::from_secs(10), Span::from_secs(5), 0);
/// let start = pause.start_of_next(now).expect("it is paused");
/// assert!(start >= now + Span::from_secs(10) && start <= now + Span::from_secs(15));
/// assert_eq!(pause.start_of_next(now + Span::from_secs(10)), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DestinationPause {
    until: Instant,
    spread: Span,
    /// The place of the last start within the spread, as a share of 2^64.
    place: u64,
}

impl DestinationPause {
    /// No pause.
    pub const NONE: Self = Self { until: Instant::ORIGIN, spread: Span::ZERO, place: 0 };

    /// The end of the pause, spread aside.
    #[must_use]
    pub const fn until(&self) -> Instant {
        self.until
    }

    /// Nobody starts before `until`. A pause that ends later already stays as it is. `word` is a word of
    /// chance.
    pub fn extend(&mut self, until: Instant, spread: Span, word: u64) {
        if until > self.until {
            *self = Self { until, spread, place: word };
        }
    }

    /// Returns the start of an attempt that is ready at `now`; `None` if it may start immediately.
    pub fn start_of_next(&mut self, now: Instant) -> Option<Instant> {
        if now >= self.until {
            return None;
        }
        self.place = self.place.wrapping_add(GOLDEN_STEP);
        let share = (u128::from(self.spread.as_nanos()) * u128::from(self.place)) >> 64;
        // OK because the share is below the spread, which is a u64.
        Some(self.until + Span::from_nanos(u64::try_from(share).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn secs(secs: u64) -> Instant {
        Instant::ORIGIN + Span::from_secs(secs)
    }

    #[test]
    fn callers_that_were_held_did_not_meet_at_the_end() {
        for word in [0, 1, u64::MAX, 0xdead_beef_0000_0001] {
            let mut pause = DestinationPause::NONE;
            pause.extend(secs(10), Span::from_secs(10), word);
            let starts: Option<Vec<_>> = (0..100).map(|_| pause.start_of_next(secs(1))).collect();
            let starts = starts.expect("it is paused");
            for second in 10..20 {
                let within = |start: &&Instant| (secs(second)..secs(second + 1)).contains(*start);
                let count = starts.iter().filter(within).count();
                assert!((8..=12).contains(&count), "{count} starts in second {second}");
            }
        }
    }

    #[test]
    fn a_shorter_hint_ended_the_pause_of_a_longer_one() {
        let mut pause = DestinationPause::NONE;
        pause.extend(secs(10), Span::ZERO, 7);
        pause.extend(secs(5), Span::ZERO, 7);
        assert_eq!(pause.start_of_next(secs(6)), Some(secs(10)));
        pause.extend(secs(12), Span::ZERO, 7);
        assert_eq!(pause.start_of_next(secs(6)), Some(secs(12)));
    }
}
