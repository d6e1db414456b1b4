//! A reading of the wall clock, which only dates in headers need.

use crate::Span;

const NANOS_PER_SEC: i128 = 1_000_000_000;

/// A reading of the wall clock: nanoseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
///
/// The engine runs on monotonic time; this is used to read a date that a server wrote, and for
/// nothing else. A reading in whole seconds makes a hint longer by less than a second, never shorter.
///
/// ```
/// use stagger_core::{Span, hint::WallTime};
/// let now = WallTime::from_unix_secs(1_445_412_450);
/// let named = WallTime::from_unix_secs(1_445_412_480);
/// assert_eq!(now.until(named), Span::from_secs(30));
/// assert_eq!(named.until(now), Span::ZERO);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WallTime(i128);

impl WallTime {
    /// The instant `secs` seconds after the epoch; negative is before it.
    #[must_use]
    pub const fn from_unix_secs(secs: i64) -> Self {
        // OK because any i64 times 10^9 is below 2^94.
        Self(secs as i128 * NANOS_PER_SEC)
    }

    /// The instant `since_epoch` after the epoch.
    #[must_use]
    pub const fn from_unix(since_epoch: Span) -> Self {
        // OK because every u64 is an i128.
        Self(since_epoch.as_nanos() as i128)
    }

    /// The instant `span` later.
    pub(super) fn plus(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.as_nanos().into()))
    }

    /// Whole seconds since the epoch, rounded down.
    #[must_use]
    pub fn unix_secs(self) -> i64 {
        i64::try_from(self.0.div_euclid(NANOS_PER_SEC)).unwrap_or(i64::MAX)
    }

    /// Returns the time until `later`: zero if it is past, saturating at [`Span::MAX`].
    #[must_use]
    pub fn until(self, later: Self) -> Span {
        let nanos = later.0.saturating_sub(self.0).max(0);
        Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

#[cfg(feature = "std")]
impl From<std::time::SystemTime> for WallTime {
    /// The same instant; one before the epoch is negative.
    fn from(time: std::time::SystemTime) -> Self {
        let nanos = |d: core::time::Duration| i128::try_from(d.as_nanos()).unwrap_or(i128::MAX);
        match time.duration_since(std::time::UNIX_EPOCH) {
            Ok(after) => Self(nanos(after)),
            Err(before) => Self(-nanos(before.duration())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_before_the_epoch_round_down() {
        assert_eq!(WallTime(-1).unix_secs(), -1);
        assert_eq!(WallTime::from_unix(Span::from_millis(1_999)).unix_secs(), 1);
    }

    #[test]
    fn a_date_beyond_the_range_saturates() {
        let far = WallTime::from_unix_secs(i64::MAX);
        assert_eq!(WallTime::from_unix_secs(i64::MIN).until(far), Span::MAX);
        assert_eq!(far.unix_secs(), i64::MAX);
    }

    #[cfg(feature = "std")]
    #[test]
    fn the_system_clock_keeps_its_fraction() {
        use std::time::{Duration, UNIX_EPOCH};
        let late = WallTime::from(UNIX_EPOCH + Duration::from_millis(10_909));
        assert_eq!(late.until(WallTime::from_unix_secs(12)), Span::from_millis(1_091));
        let early = WallTime::from(UNIX_EPOCH - Duration::from_millis(500));
        assert_eq!(early.unix_secs(), -1);
    }
}
