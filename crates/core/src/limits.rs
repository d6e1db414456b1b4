//! When a call must end, whatever its outcomes: attempts, deadline, time per attempt.

use core::num::NonZeroU32;

use crate::time::{Instant, Span};

/// The limits of one call. At least one of attempts and deadline is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    pub(crate) max_attempts: Option<NonZeroU32>,
    pub(crate) deadline: Option<Span>,
    pub(crate) attempt_timeout: Option<Span>,
    pub(crate) min_attempt_time: Span,
}

impl Limits {
    /// Three calls in all and no time limit: what most SDKs do when nobody says otherwise.
    pub(crate) const DEFAULT: Self = Self {
        max_attempts: NonZeroU32::new(3),
        deadline: None,
        attempt_timeout: None,
        min_attempt_time: Span::ZERO,
    };

    /// How many calls may be made in all; `None` when only the deadline ends them.
    #[must_use]
    pub fn max_attempts(&self) -> Option<u32> {
        self.max_attempts.map(NonZeroU32::get)
    }

    /// How long attempts and waits may take together.
    #[must_use]
    pub const fn deadline(&self) -> Option<Span> {
        self.deadline
    }

    /// How long one attempt may take.
    #[must_use]
    pub const fn attempt_timeout(&self) -> Option<Span> {
        self.attempt_timeout
    }

    /// The least time that must be left for an attempt to be worth starting.
    #[must_use]
    pub const fn min_attempt_time(&self) -> Span {
        self.min_attempt_time
    }

    /// Whether one more call may follow `made` calls.
    #[inline]
    pub(crate) fn attempts_left(&self, made: u32) -> bool {
        self.max_attempts.is_none_or(|max| made < max.get())
    }

    /// The last instant of a call that starts now; [`Instant::FAR`] without a deadline.
    #[inline]
    pub(crate) fn last_instant(&self, now: Instant) -> Instant {
        self.deadline.map_or(Instant::FAR, |limit| now + limit)
    }

    /// Whether an attempt that starts at `start` has time before `last`: some, and at least the
    /// minimum. An attempt that would start in the last instant has none.
    #[inline]
    pub(crate) fn fits(&self, start: Instant, last: Instant) -> bool {
        last == Instant::FAR || (start < last && start + self.min_attempt_time <= last)
    }

    /// The time limit of an attempt that starts now: its own, or what is left if that is less.
    #[inline]
    pub(crate) fn attempt_limit(&self, now: Instant, last: Instant) -> Option<Span> {
        let left = (last != Instant::FAR).then(|| last - now);
        match (self.attempt_timeout, left) {
            (Some(own), Some(left)) => Some(own.min(left)),
            (own, left) => own.or(left),
        }
    }
}
