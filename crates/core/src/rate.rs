//! Rates as whole millionths a second, so that 0.1 means exactly one in ten seconds.

use core::fmt;

use crate::error::ConfigError;
use crate::time::Span;

/// A number of events a second, in millionths, from 0 to 1 000 000 a second.
///
/// ```
/// use stagger_core::{Rate, Span};
/// let rate = Rate::try_from(0.1)?;
/// assert_eq!(rate, Rate::once_every(Span::from_secs(10)));
/// assert_eq!(rate.to_string(), "0.1/s");
/// assert!(Rate::try_from(-1.0).is_err());
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// No events.
    pub const ZERO: Self = Self(0);
    /// The largest rate, a million a second.
    pub const MAX: Self = Self(Self::SCALE * Self::SCALE);
    /// Millionths in one event.
    const SCALE: u64 = 1_000_000;

    /// `n` events a second, at most [`Rate::MAX`].
    #[must_use]
    pub const fn per_second(n: u32) -> Self {
        // OK because u64 holds every u32; `From` is not const.
        Self::at_most_max(n as u64 * Self::SCALE)
    }

    /// One event in each `span`, rounded down to millionths a second, at most [`Rate::MAX`].
    #[must_use]
    pub const fn once_every(span: Span) -> Self {
        match (Self::SCALE * 1_000_000_000).checked_div(span.as_nanos()) {
            Some(millionths) => Self::at_most_max(millionths),
            None => Self::MAX,
        }
    }

    /// The rate in millionths of an event a second.
    #[must_use]
    pub const fn millionths(self) -> u64 {
        self.0
    }

    /// The events a second as a float, for reports only.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "at most 10^12, below 2^53")]
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / Self::SCALE as f64
    }

    /// The events of a span in millionths, rounded down, saturating.
    #[must_use]
    pub const fn over(self, span: Span) -> u64 {
        let events = self.0 as u128 * span.as_nanos() as u128 / 1_000_000_000;
        // OK because the comparison keeps what does not fit out of the cast.
        #[expect(clippy::cast_possible_truncation, reason = "compared with u64::MAX first")]
        if events > u64::MAX as u128 { u64::MAX } else { events as u64 }
    }

    /// An equal part of this rate for each of `parts`, rounded down; zero parts count as one.
    #[must_use]
    pub const fn split(self, parts: u32) -> Self {
        match self.0.checked_div(parts as u64) {
            Some(part) => Self(part),
            None => self,
        }
    }

    const fn at_most_max(millionths: u64) -> Self {
        if millionths > Self::MAX.0 { Self::MAX } else { Self(millionths) }
    }
}

impl TryFrom<f64> for Rate {
    type Error = ConfigError;

    /// The nearest millionth a second; NaN, infinities and values out of bounds are refused.
    fn try_from(value: f64) -> Result<Self, ConfigError> {
        if !(0.0..=1e6).contains(&value) {
            return Err(ConfigError::new("rate", value, "a number from 0 to 1000000 a second"));
        }
        // OK because the scaled value lies in 0..=10^12 + 0.5, whose whole part fits.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked above"
        )]
        let millionths = (value * 1e6 + 0.5) as u64;
        Ok(Self(millionths))
    }
}

impl fmt::Display for Rate {
    /// As a number a second: `0.1/s`, `10/s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", self.as_f64())
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenths_of_an_event_are_exact() {
        let tenth = Rate::try_from(0.1).expect("in bounds");
        assert_eq!((tenth.millionths(), tenth.over(Span::from_secs(30))), (100_000, 3_000_000));
    }

    #[test]
    fn numbers_that_are_no_rate_are_refused() {
        for value in [f64::NAN, f64::INFINITY, -0.1, 1_000_000.1] {
            assert!(Rate::try_from(value).is_err(), "{value}");
        }
    }

    #[test]
    fn nothing_overflows() {
        assert_eq!(Rate::per_second(u32::MAX), Rate::MAX);
        assert_eq!(Rate::once_every(Span::ZERO), Rate::MAX);
        assert_eq!(Rate::MAX.over(Span::MAX), u64::MAX);
        assert_eq!(
            (Rate::MAX.split(0), Rate::MAX.split(4)),
            (Rate::MAX, Rate::per_second(250_000))
        );
    }
}
