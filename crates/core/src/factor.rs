//! The growth factor of an exponential envelope, and its powers in integers.

use core::fmt;
use core::num::NonZeroU8;

use crate::error::ConfigError;
use crate::ratio::Ratio;

/// A growth factor from 1 to [`Factor::MAX`], exact to one part in a million.
///
/// ```
/// use stagger_core::Factor;
/// assert_eq!(Factor::try_from(1.5)?.grow(1_000, 2), 2_250);
/// assert!(Factor::try_from(0.5).is_err());
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Factor {
    /// The factor is `p / q` in lowest terms, so that powers stay small for as long as they can.
    p: u64,
    /// At most a million, so that it leaves room for `doublings` in the same word.
    q: u32,
    /// The number of bits by which a power of two shifts: the common case takes one
    /// instruction.
    doublings: Option<NonZeroU8>,
}

impl Factor {
    /// No growth: every ceiling is the base.
    pub const ONE: Self = Self { p: 1, q: 1, doublings: None };
    /// Doubling, the default.
    pub const TWO: Self = Self { p: 2, q: 1, doublings: NonZeroU8::new(1) };
    /// The largest factor: from a nanosecond it reaches eleven days in two steps, and more is a typing error.
    pub const MAX: u32 = 1_000_000;

    /// The factor as a float, for reports only.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "p < 2^40 is exact")]
    pub fn as_f64(self) -> f64 {
        self.p as f64 / f64::from(self.q)
    }

    /// `base * self^n` rounded down, saturating at `u64::MAX`.
    ///
    /// Exact wherever the result is whole. Where it is not and `p^n` leaves 128 bits, the power is
    /// taken in 64.64 fixed point, whose error is below one unit for every result under 2^44 (four
    /// hours in nanoseconds) while n < 2^20, and never upward.
    #[must_use]
    #[inline]
    pub fn grow(self, base: u64, n: u32) -> u64 {
        if let Some(bits) = self.doublings {
            return shift(base, bits.get(), n);
        }
        self.grow_exactly(base, n).unwrap_or_else(|| self.grow_in_fixed_point(base, n))
    }

    const fn from_ppm(ppm: u64) -> Self {
        let scale = Ratio::SCALE as u64;
        let shared = gcd(ppm, scale);
        let p = ppm / shared;
        // OK because a divisor of a million fits u32, and a power of two below 2^40 has few zeros.
        #[expect(clippy::cast_possible_truncation, reason = "q <= 10^6, zeros <= 40")]
        let (q, zeros) = ((scale / shared) as u32, p.trailing_zeros() as u8);
        let doublings = if q == 1 && p.is_power_of_two() { NonZeroU8::new(zeros) } else { None };
        Self { p, q, doublings }
    }

    /// `None` when an intermediate power does not fit 128 bits. A whole result always fits: `q^n`
    /// then divides `base`, so `base * p^n` is at most 2^64 * 2^64.
    fn grow_exactly(self, base: u64, n: u32) -> Option<u64> {
        let grown = u128::from(self.p).checked_pow(n)?.checked_mul(u128::from(base))?;
        let whole = grown / u128::from(self.q).checked_pow(n)?;
        Some(u64::try_from(whole).unwrap_or(u64::MAX))
    }

    #[inline(never)]
    fn grow_in_fixed_point(self, base: u64, mut n: u32) -> u64 {
        let mut square = Fixed::ratio(self.p, u64::from(self.q));
        let mut power = Fixed::ONE;
        while n > 0 {
            if n & 1 == 1 {
                power = power.mul(square);
            }
            n >>= 1;
            if n > 0 {
                square = square.mul(square);
            }
        }
        power.mul(Fixed::whole(base)).floor()
    }
}

impl TryFrom<f64> for Factor {
    type Error = ConfigError;

    /// The nearest part per million; NaN, infinities and values outside 1..=1 000 000 are refused.
    fn try_from(value: f64) -> Result<Self, ConfigError> {
        if !(1.0..=f64::from(Self::MAX)).contains(&value) {
            return Err(ConfigError::new("factor", value, "a finite number from 1 to 1000000"));
        }
        // OK because 1 <= value <= 10^6, so the scaled value is below 2^40.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked above"
        )]
        let ppm = (value * f64::from(Ratio::SCALE) + 0.5) as u64;
        Ok(Self::from_ppm(ppm))
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.as_f64())
    }
}

impl fmt::Debug for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// `base * 2^(bits * n)`, saturating: what was shifted out is missed when shifted back.
#[inline]
fn shift(base: u64, bits: u8, n: u32) -> u64 {
    let by = u64::from(bits) * u64::from(n);
    let grown = base << (by & 63);
    let whole = by < 64 && grown >> by == base;
    if whole || base == 0 { grown } else { u64::MAX }
}

const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// An unsigned 64.64 fixed-point number that saturates and rounds down.
#[derive(Clone, Copy)]
struct Fixed(u128);

impl Fixed {
    const ONE: Self = Self(1 << 64);

    const fn whole(n: u64) -> Self {
        Self((n as u128) << 64)
    }

    const fn ratio(p: u64, q: u64) -> Self {
        Self(((p as u128) << 64) / q as u128)
    }

    fn halves(self) -> (u128, u128) {
        (self.0 >> 64, self.0 & u128::from(u64::MAX))
    }

    /// Schoolbook multiplication of the halves; every partial product fits 128 bits.
    fn mul(self, other: Self) -> Self {
        let ((ah, al), (bh, bl)) = (self.halves(), other.halves());
        let high = ah * bh;
        if high > u128::from(u64::MAX) {
            return Self(u128::MAX);
        }
        let sum = (high << 64)
            .checked_add(ah * bl)
            .and_then(|sum| sum.checked_add(al * bh))
            .and_then(|sum| sum.checked_add((al * bl) >> 64));
        Self(sum.unwrap_or(u128::MAX))
    }

    // OK because a u128 shifted right by 64 fits u64.
    const fn floor(self) -> u64 {
        (self.0 >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigUint;
    use proptest::prelude::*;

    fn factor(value: f64) -> Factor {
        Factor::try_from(value).expect("a factor in range")
    }

    #[test]
    fn whole_results_are_exact_though_the_factor_is_no_binary_fraction() {
        assert_eq!(factor(1.2).grow(1_000_000_000, 1), 1_200_000_000);
        assert_eq!(factor(1.1).grow(1_000_000_000, 9), 2_357_947_691);
        assert_eq!(factor(1.5).grow(500_000_000, 9), 19_221_679_687);
    }

    #[test]
    fn growth_saturates_at_every_power() {
        for n in [31, 32, 63, 64, 1023, 1024, u32::MAX] {
            for value in [1.000_001, 1.1, 1.5, 2.0, 3.0, 4.0, 1e6] {
                let _ = factor(value).grow(u64::MAX, n);
                let _ = factor(value).grow(1, n);
            }
            assert_eq!(factor(3.0).grow(0, n), 0);
            assert_eq!(factor(2.0).grow(u64::MAX, n), u64::MAX);
            assert_eq!(Factor::ONE.grow(7, n), 7);
        }
    }

    #[test]
    fn factors_that_do_not_grow_are_refused() {
        for value in [f64::NAN, f64::INFINITY, 0.0, -2.0, 0.5, 0.999_999, 1e7] {
            assert!(Factor::try_from(value).is_err(), "{value}");
        }
    }

    /// The true value by arithmetic without bounds.
    fn reference(f: Factor, base: u64, n: u32) -> BigUint {
        BigUint::from(base) * BigUint::from(f.p).pow(n) / BigUint::from(f.q).pow(n)
    }

    proptest! {
        #[test]
        fn growth_is_the_floor_of_the_true_value_or_one_below(
            ppm in 1_000_001_u64..4_000_000, base in 1_u64..1 << 40, n in 0_u32..400,
        ) {
            #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
            let f = factor(ppm as f64 / 1e6);
            let truth = reference(f, base, n);
            let ours = BigUint::from(f.grow(base, n));
            if truth < BigUint::from(1_u64 << 44) {
                prop_assert!(ours <= truth && truth.clone() - &ours <= BigUint::from(1_u8), "{ours} {truth}");
            } else {
                prop_assert!(ours >= BigUint::from((1_u64 << 44) - 1));
            }
        }

        #[test]
        fn growth_never_shrinks(ppm in 1_000_000_u64..3_000_000, base in 1_u64..1 << 40, n in 0_u32..5_000) {
            #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
            let f = factor(ppm as f64 / 1e6);
            prop_assert!(f.grow(base, n) <= f.grow(base, n + 1));
        }
    }
}
