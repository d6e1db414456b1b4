//! At most n retries in any interval.

use super::{Level, Paid};
use crate::{ConfigError, Instant, Span};

/// The most retries an interval may have. One or a few for the same segment is what it is for; for
/// more, a window with a floor says the same and remembers no single retry.
const MAX_RETRIES: usize = 16;

/// At most `retries` in any stretch of time as long as `interval`, wherever it begins.
///
/// Meant for one key: 1 per 30 s for the same segment.
///
/// ```
/// use stagger_core::budget::{Budget, Charge, IntervalPlan};
/// use stagger_core::{Instant, Span};
/// let half_minute = Span::from_secs(30);
/// let mut budget = Budget::new(IntervalPlan::new(1, half_minute)?.into());
/// let now = Instant::ORIGIN;
/// assert!(budget.ask(now, Charge::Retry).is_some());
/// assert!(budget.ask(now + Span::from_secs(29), Charge::Retry).is_none());
/// assert!(budget.ask(now + half_minute, Charge::Retry).is_some());
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntervalPlan {
    retries: u8,
    interval: Span,
}

impl IntervalPlan {
    /// At most `retries` in any `interval`.
    ///
    /// # Errors
    /// `budget.retries` outside 1..=16, `budget.interval` zero.
    pub fn new(retries: u8, interval: impl Into<Span>) -> Result<Self, ConfigError> {
        let interval = interval.into();
        if !(1..=MAX_RETRIES).contains(&usize::from(retries)) {
            return Err(ConfigError::new("budget.retries", retries, "from 1 to 16"));
        }
        if interval.is_zero() {
            return Err(ConfigError::new("budget.interval", interval, "above 0s"));
        }
        Ok(Self { retries, interval })
    }

    /// The most retries in an interval.
    #[must_use]
    pub const fn retries(&self) -> u8 {
        self.retries
    }

    /// The length of the interval.
    #[must_use]
    pub const fn interval(&self) -> Span {
        self.interval
    }

    /// Grants when one of the last grants is an interval old. The grant notes its place and how
    /// often that was used, so that a late refund cannot free a later grant.
    pub fn ask(&self, state: &mut IntervalState, now: Instant) -> Option<Paid> {
        self.step_back(state, now);
        let place = self.ready(state).iter().position(|ready| *ready <= now)?;
        state.ready[place] = now + self.interval;
        state.uses[place] = state.uses[place].wrapping_add(1);
        // OK because a place is below 16.
        #[expect(clippy::cast_possible_truncation, reason = "below MAX_RETRIES")]
        Some(Paid::new(1, (u32::from(state.uses[place]) << 16) | place as u32))
    }

    /// Gives a grant back; nothing once its place was used again.
    pub fn refund(&self, state: &mut IntervalState, paid: Paid) {
        let place = (paid.mark() & 0xFFFF) as usize;
        if paid.amount() == 0 || place >= MAX_RETRIES {
            return;
        }
        if u32::from(state.uses[place]) == paid.mark() >> 16 {
            state.ready[place] = Instant::ORIGIN;
        }
    }

    /// Returns the free places of the interval, and the number of all places.
    #[must_use]
    pub fn level(&self, state: &IntervalState, now: Instant) -> Level {
        let mut state = *state;
        self.step_back(&mut state, now);
        let left = self.ready(&state).iter().filter(|ready| **ready <= now).count();
        Level::of_retries(left as u64, u64::from(self.retries))
    }

    /// The time at which each place is free again: a retry is granted from the first of them on.
    #[must_use]
    pub fn ready<'a>(&self, state: &'a IntervalState) -> &'a [Instant] {
        // OK because `new` keeps `retries` within the places.
        &state.ready[..usize::from(self.retries)]
    }

    /// A clock set back reads as no time passed. Beyond a whole interval it is no mere disorder
    /// between threads, and the wait starts over, or it would last until the clock has caught up.
    fn step_back(&self, state: &mut IntervalState, now: Instant) {
        for ready in &mut state.ready {
            if ready.since(now) > self.interval + self.interval {
                *ready = now + self.interval;
            }
        }
    }
}

/// The times at which the last grants cease to count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IntervalState {
    /// From when on a place may be used again.
    ready: [Instant; MAX_RETRIES],
    /// The number of uses of each place, wrapping.
    uses: [u16; MAX_RETRIES],
}

impl IntervalState {
    /// The words of a saved state: one for each place, and a quarter for the count of its uses.
    pub(super) const WORDS: usize = MAX_RETRIES + MAX_RETRIES / 4;

    pub(super) fn to_words(self) -> [u64; Self::WORDS] {
        let mut words = [0; Self::WORDS];
        for (place, ready) in self.ready.iter().enumerate() {
            words[place] = ready.as_nanos();
            words[MAX_RETRIES + place / 4] |= u64::from(self.uses[place]) << (place % 4 * 16);
        }
        words
    }

    /// Any words will do: an instant in the far future reads as a clock that was set back.
    pub(super) fn from_words(words: &[u64; Self::WORDS]) -> Self {
        let mut state = Self::default();
        for place in 0..MAX_RETRIES {
            state.ready[place] = Instant::from_nanos(words[place]);
            let uses = words[MAX_RETRIES + place / 4] >> (place % 4 * 16);
            state.uses[place] = sixteen_bits(uses);
        }
        state
    }
}

#[expect(clippy::cast_possible_truncation, reason = "each use has sixteen bits of its word")]
const fn sixteen_bits(word: u64) -> u16 {
    word as u16
}
