//! A number with three decimal places, without floats.

use core::fmt;

/// The first thousandths that need a thirteenth digit before the point.
const BOUND: i128 = 1_000_000_000_000_000;

/// A number of at most 12 digits before the point and 3 behind it (section 3.3.2).
///
/// ```
/// use stagger_core::hint::structured::Decimal;
/// // 0.0025 lies between two decimals; the even one is taken (section 4.1.5).
/// let rounded = Decimal::from_scaled(25, 4).unwrap();
/// assert_eq!(rounded.thousandths(), 2);
/// assert_eq!(rounded.to_string(), "0.002");
/// assert_eq!(Decimal::from_scaled(1_000_000_000_000, 0), None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Decimal(i64);

impl Decimal {
    /// `value / 10^places`, rounded to the nearest thousandth, ties to the even one.
    ///
    /// `None` when more than 12 digits are needed before the point.
    #[must_use]
    pub fn from_scaled(value: i64, places: u32) -> Option<Self> {
        let value = i128::from(value);
        let thousandths = match places {
            0..=3 => value * 10_i128.pow(3 - places),
            // OK because no i64 is half of 10^20, so it rounds to zero.
            24.. => 0,
            _ => divide_to_even(value, 10_i128.pow(places - 3)),
        };
        if thousandths.abs() >= BOUND {
            return None;
        }
        i64::try_from(thousandths).ok().map(Self)
    }

    /// The number times 1000.
    #[must_use]
    pub const fn thousandths(self) -> i64 {
        self.0
    }
}

impl fmt::Display for Decimal {
    /// The canonical text: at least one digit on each side of the point, no further zeros.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let (whole, rest) = (self.0.unsigned_abs() / 1000, self.0.unsigned_abs() % 1000);
        write!(f, "{sign}{whole}.")?;
        match rest {
            r if r % 100 == 0 => write!(f, "{}", r / 100),
            r if r % 10 == 0 => write!(f, "{:02}", r / 10),
            r => write!(f, "{r:03}"),
        }
    }
}

fn divide_to_even(value: i128, by: i128) -> i128 {
    let (floor, rest) = (value.div_euclid(by), value.rem_euclid(by));
    let up = match (2 * rest).cmp(&by) {
        core::cmp::Ordering::Less => false,
        core::cmp::Ordering::Equal => floor % 2 != 0,
        core::cmp::Ordering::Greater => true,
    };
    floor + i128::from(up)
}

#[cfg(test)]
mod tests {
    use super::Decimal;
    use alloc::string::ToString;

    #[test]
    fn ties_go_to_the_even_thousandth_on_both_sides_of_zero() {
        let thousandths = |v, p| Decimal::from_scaled(v, p).map(Decimal::thousandths);
        assert_eq!(thousandths(15, 4), Some(2));
        assert_eq!(thousandths(-15, 4), Some(-2));
        assert_eq!(thousandths(-25, 4), Some(-2));
        assert_eq!(thousandths(-26, 4), Some(-3));
        assert_eq!(thousandths(i64::MAX, 23), Some(0));
        assert_eq!(thousandths(i64::MIN, u32::MAX), Some(0));
    }

    #[test]
    fn text_is_canonical() {
        let text = |v| Decimal::from_scaled(v, 3).unwrap().to_string();
        assert_eq!(text(-1), "-0.001");
        assert_eq!(text(1_500), "1.5");
        assert_eq!(text(10_000), "10.0");
        assert_eq!(text(7_010), "7.01");
    }
}
