//! The start of a call, which may be before the clock's origin.

use crate::time::{Instant, Span};

/// The start of a call, in nanoseconds from the clock's origin.
///
/// A call that is resumed in a young process began before the origin of that process's clock. An
/// [`Instant`] cannot say so, and a call that forgot its past would get its whole deadline again
/// after every restart. More than 292 years on either side of the origin the start is taken to be
/// there, so that a deadline is rather passed too early than never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Start(i64);

impl Start {
    #[inline]
    pub(super) fn at(now: Instant) -> Self {
        Self(i64::try_from(now.as_nanos()).unwrap_or(i64::MAX))
    }

    /// The start of a call that has lasted for `elapsed`.
    pub(super) fn before(now: Instant, elapsed: Span) -> Self {
        let start = i128::from(now.as_nanos()) - i128::from(elapsed.as_nanos());
        // OK because a start beyond i64 is moved to its end, see the type.
        let start = start.clamp(i128::from(i64::MIN), i128::from(i64::MAX));
        Self(i64::try_from(start).expect("clamped just above"))
    }

    /// The time since then; a clock that stepped back before the start counts as none.
    #[inline]
    pub(super) fn elapsed(self, now: Instant) -> Span {
        match u64::try_from(self.0) {
            Ok(start) => now - Instant::from_nanos(start),
            Err(_) => Span::from_nanos(now.as_nanos().saturating_add(self.0.unsigned_abs())),
        }
    }

    /// The start as an instant; the origin when it lies before it.
    #[inline]
    pub(super) fn instant(self) -> Instant {
        Instant::from_nanos(u64::try_from(self.0).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_restart_does_not_forget_the_time_that_passed(now: u64, elapsed in 0..u64::MAX / 2) {
            let now = Instant::from_nanos(now / 2);
            let elapsed = Span::from_nanos(elapsed);
            prop_assert_eq!(Start::before(now, elapsed).elapsed(now), elapsed);
        }

        #[test]
        fn no_pair_of_instants_overflows(start: u64, now: u64, elapsed: u64) {
            let (start, now) = (Instant::from_nanos(start), Instant::from_nanos(now));
            prop_assert!(Start::at(start).elapsed(now) >= now - start);
            let _ = Start::before(start, Span::from_nanos(elapsed)).elapsed(now);
            prop_assert!(Start::at(now).instant() <= now);
        }
    }
}
