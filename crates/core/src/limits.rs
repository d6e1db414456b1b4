//! The limits of a call, whatever its outcomes: attempts, deadline, time per attempt.

use core::num::NonZeroU32;

use crate::time::Span;

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

    /// The most attempts; `None` if only the deadline ends the call.
    #[must_use]
    pub fn max_attempts(&self) -> Option<u32> {
        self.max_attempts.map(NonZeroU32::get)
    }

    /// The limit of attempts and waits together.
    #[must_use]
    pub const fn deadline(&self) -> Option<Span> {
        self.deadline
    }

    /// The limit of one attempt.
    #[must_use]
    pub const fn attempt_timeout(&self) -> Option<Span> {
        self.attempt_timeout
    }

    /// The limit of the first attempt: its own, or the deadline if that is shorter.
    #[must_use]
    #[inline]
    pub fn first_attempt_limit(&self) -> Option<Span> {
        self.attempt_limit(Span::ZERO)
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

    /// Whether an attempt that starts `elapsed` into the call has time before the deadline: some,
    /// and at least the minimum. An attempt that would start in the last instant has none.
    #[inline]
    pub(crate) fn fits(&self, elapsed: Span) -> bool {
        self.deadline
            .is_none_or(|limit| elapsed < limit && elapsed + self.min_attempt_time <= limit)
    }

    /// The longest delay after `elapsed` that still leaves time for an attempt.
    pub(crate) fn room(&self, elapsed: Span) -> Span {
        let least = self.min_attempt_time.max(Span::from_nanos(1));
        self.deadline.map_or(Span::MAX, |limit| limit - elapsed - least)
    }

    /// The time limit of an attempt that starts `elapsed` into the call: its own, or what is left
    /// if that is less.
    #[inline]
    pub(crate) fn attempt_limit(&self, elapsed: Span) -> Option<Span> {
        let left = self.deadline.map(|limit| limit - elapsed);
        match (self.attempt_timeout, left) {
            (Some(own), Some(left)) => Some(own.min(left)),
            (own, left) => own.or(left),
        }
    }
}
