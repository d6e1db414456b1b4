//! Ratios as integer parts per million, so that 0.4 means exactly 40 %.

use core::fmt;

use crate::error::ConfigError;
use crate::time::Span;

/// A non-negative ratio in parts per million, from 0 to about 4294.967295.
///
/// ```
/// use stagger_core::Ratio;
/// let tenth = Ratio::from_percent(10);
/// assert_eq!(tenth.of(10_000), 1_000);
/// assert_eq!(Ratio::try_from(0.1)?, tenth);
/// assert!(Ratio::try_from(f64::NAN).is_err());
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ratio(u32);

impl Ratio {
    /// Nothing at all.
    pub const ZERO: Self = Self(0);
    /// The whole.
    pub const ONE: Self = Self(Self::SCALE);
    /// Parts in the whole.
    pub const SCALE: u32 = 1_000_000;

    /// `parts` in a million.
    #[must_use]
    pub const fn from_ppm(parts: u32) -> Self {
        Self(parts)
    }

    /// `n` in a hundred, saturating.
    #[must_use]
    pub const fn from_percent(n: u32) -> Self {
        Self(n.saturating_mul(10_000))
    }

    /// The ratio in parts per million.
    #[must_use]
    pub const fn ppm(self) -> u32 {
        self.0
    }

    /// The ratio as a float, for reports only.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / f64::from(Self::SCALE)
    }

    /// This share of `n`, rounded down, saturating.
    #[must_use]
    #[inline]
    pub const fn of(self, n: u64) -> u64 {
        let share = n as u128 * self.0 as u128 / Self::SCALE as u128;
        // OK because the comparison keeps what does not fit out of the cast.
        #[expect(clippy::cast_possible_truncation, reason = "compared with u64::MAX first")]
        if share > u64::MAX as u128 { u64::MAX } else { share as u64 }
    }

    /// This share of `span`, rounded down to whole nanoseconds, saturating.
    #[must_use]
    #[inline]
    pub const fn of_span(self, span: Span) -> Span {
        Span::from_nanos(self.of(span.as_nanos()))
    }
}

/// The bound of a ratio in an error text: `u32::MAX` parts in a million at most.
const BOUND: &str = "a finite number from 0 to 4294.967295";

impl TryFrom<f64> for Ratio {
    type Error = ConfigError;

    /// The nearest part per million; NaN, infinities and values beyond `u32::MAX` parts are refused.
    fn try_from(value: f64) -> Result<Self, ConfigError> {
        if !(0.0..=4_294.967_295).contains(&value) {
            return Err(ConfigError::new("ratio", value, BOUND));
        }
        // OK because the scaled value lies in 0..=u32::MAX + 0.5, whose whole part fits.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked above"
        )]
        let ppm = (value * f64::from(Self::SCALE) + 0.5) as u32;
        Ok(Self(ppm))
    }
}

impl fmt::Display for Ratio {
    /// As a percentage: `10%`, `0.5%`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", f64::from(self.0) / 10_000.0)
    }
}

impl fmt::Debug for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(feature = "serde")]
mod serial {
    use core::fmt;

    use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
    use serde::ser::{Serialize, Serializer};

    use super::{BOUND, Ratio};

    impl Serialize for Ratio {
        /// As a number: `0.1`, which reads back to the same part per million.
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_f64(self.as_f64())
        }
    }

    impl<'de> Deserialize<'de> for Ratio {
        /// From a number, whole or decimal.
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_f64(RatioVisitor)
        }
    }

    struct RatioVisitor;

    impl Visitor<'_> for RatioVisitor {
        type Value = Ratio;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(BOUND)
        }

        fn visit_f64<E: Error>(self, value: f64) -> Result<Ratio, E> {
            Ratio::try_from(value).map_err(|_| E::invalid_value(Unexpected::Float(value), &self))
        }

        fn visit_u64<E: Error>(self, n: u64) -> Result<Ratio, E> {
            let whole = u32::try_from(n).ok().and_then(|n| n.checked_mul(Ratio::SCALE));
            whole.map(Ratio).ok_or_else(|| E::invalid_value(Unexpected::Unsigned(n), &self))
        }

        fn visit_i64<E: Error>(self, n: i64) -> Result<Ratio, E> {
            match u64::try_from(n) {
                Ok(n) => self.visit_u64(n),
                Err(_) => Err(E::invalid_value(Unexpected::Signed(n), &self)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenths_are_exact() {
        for (value, ppm) in [(0.1, 100_000), (0.4, 400_000), (0.6, 600_000), (1.0, 1_000_000)] {
            assert_eq!(Ratio::try_from(value).map(Ratio::ppm), Ok(ppm));
        }
    }

    #[test]
    fn values_that_are_no_ratio_are_refused() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.1, 1e9] {
            assert!(Ratio::try_from(value).is_err(), "{value}");
        }
    }

    #[test]
    fn shares_saturate() {
        assert_eq!(Ratio::from_ppm(u32::MAX).of(u64::MAX), u64::MAX);
        assert_eq!(Ratio::ONE.of(u64::MAX), u64::MAX);
    }
}
