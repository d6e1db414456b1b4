//! Spans as people write them: `250ms`, `1.5s`, `1h 30m`.
//!
//! One form for TOML, JSON and flags. humantime is not used here: it needs the standard library,
//! refuses decimals, and reads `M` as months.

use core::fmt;
use core::str::FromStr;

use crate::time::Span;

/// The units, the longest first, each in nanoseconds.
///
/// `us` comes before its two other spellings (micro sign and Greek mu), which mean the same.
const UNITS: [(&str, u64); 9] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ns", 1),
];

/// The most decimals that can name a whole number of nanoseconds: a day is 2^16 * 3^3 * 5^11 ns,
/// so no fraction of it with a seventeenth decimal that is not zero is whole.
const MAX_DECIMALS: usize = 16;

/// Why a text is no [`Span`].
///
/// The message completes the words "must be ...", so it can be the bound of a
/// [`ConfigError`](crate::ConfigError).
///
/// ```
/// use stagger_core::{ConfigError, ParseSpanError, Span};
/// let error = "5".parse::<Span>().unwrap_err();
/// assert_eq!(error, ParseSpanError::NoUnit);
/// assert_eq!(
///     ConfigError::new("backoff.base", "5", error.to_string()).to_string(),
///     "backoff.base = 5: must be a span with its unit right behind the number, such as 5s or 250ms",
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseSpanError {
    /// Empty, or not made of numbers and units: signs of plus, exponents and words end here.
    Malformed,
    /// A number without a unit; only a bare `0` needs none.
    NoUnit,
    /// A unit other than ns, us, ms, s, m, h and d.
    UnknownUnit,
    /// A unit given twice, or a longer one after a shorter one.
    Order,
    /// Less than zero.
    Negative,
    /// Not a whole number of nanoseconds.
    TooFine,
    /// Longer than [`Span::MAX`].
    TooLong,
}

impl fmt::Display for ParseSpanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "a span such as 250ms, 1.5s or 1h30m",
            Self::NoUnit => "a span with its unit right behind the number, such as 5s or 250ms",
            Self::UnknownUnit => "a span in the units ns, us, ms, s, m (minutes), h or d",
            Self::Order => "a span with each unit once and the longest first, such as 1h30m",
            Self::Negative => "a span of zero or more",
            Self::TooFine => "a whole number of nanoseconds",
            Self::TooLong => "at most 213503d, about 584 years",
        })
    }
}

impl core::error::Error for ParseSpanError {}

impl FromStr for Span {
    type Err = ParseSpanError;

    /// Reads numbers with units, the longest unit first, blanks between them allowed.
    ///
    /// Decimals are exact. A bare `0` is no time; any other number needs a unit.
    ///
    /// ```
    /// use stagger_core::Span;
    /// assert_eq!("1.5s".parse(), Ok(Span::from_millis(1_500)));
    /// assert_eq!("1h 30m".parse(), Ok(Span::from_secs(5_400)));
    /// assert_eq!("0".parse(), Ok(Span::ZERO));
    /// assert!("1e3s".parse::<Span>().is_err());
    /// ```
    fn from_str(text: &str) -> Result<Self, ParseSpanError> {
        let mut rest = text.trim_matches(' ');
        if rest == "0" {
            return Ok(Self::ZERO);
        }
        if rest.starts_with('-') {
            return Err(ParseSpanError::Negative);
        }
        let (mut total, mut shortest) = (0_u64, u64::MAX);
        loop {
            let (nanos, unit, after) = term(rest)?;
            if unit >= shortest {
                return Err(ParseSpanError::Order);
            }
            total = total.checked_add(nanos).ok_or(ParseSpanError::TooLong)?;
            shortest = unit;
            rest = after.trim_start_matches(' ');
            if rest.is_empty() {
                return Ok(Self::from_nanos(total));
            }
        }
    }
}

/// Reads one number with its unit: its nanoseconds, the unit's nanoseconds, and what follows.
fn term(text: &str) -> Result<(u64, u64, &str), ParseSpanError> {
    let (whole, rest) = split(text, |c| c.is_ascii_digit());
    let (decimals, rest) = match rest.strip_prefix('.') {
        Some(rest) => split(rest, |c| c.is_ascii_digit()),
        None => ("0", rest),
    };
    if whole.is_empty() || decimals.is_empty() {
        return Err(ParseSpanError::Malformed);
    }
    let (name, rest) = split(rest, char::is_alphabetic);
    let unit = match UNITS.iter().find(|(known, _)| *known == name) {
        Some((_, unit)) => *unit,
        None if !name.is_empty() => return Err(ParseSpanError::UnknownUnit),
        None if rest.is_empty() || rest.starts_with(' ') => return Err(ParseSpanError::NoUnit),
        None => return Err(ParseSpanError::Malformed),
    };
    let nanos = digits(whole)
        .and_then(|n| n.checked_mul(u128::from(unit)))
        .and_then(|n| u64::try_from(n).ok())
        .ok_or(ParseSpanError::TooLong)?;
    let nanos = nanos.checked_add(fraction(decimals, unit)?).ok_or(ParseSpanError::TooLong)?;
    Ok((nanos, unit, rest))
}

/// The nanoseconds of `0.decimals` units.
fn fraction(decimals: &str, unit: u64) -> Result<u64, ParseSpanError> {
    let decimals = decimals.trim_end_matches('0');
    if decimals.len() > MAX_DECIMALS {
        return Err(ParseSpanError::TooFine);
    }
    let mut scale = 1_u128;
    let mut share = 0_u128;
    for digit in decimals.bytes() {
        share = share * 10 + u128::from(digit - b'0');
        scale *= 10;
    }
    // OK because share < 10^16 and unit < 10^14, and share < scale keeps the quotient below unit.
    let nanos = share * u128::from(unit);
    if nanos % scale != 0 {
        return Err(ParseSpanError::TooFine);
    }
    u64::try_from(nanos / scale).map_err(|_| ParseSpanError::TooLong)
}

/// The value of decimal digits, unless it is beyond all spans.
fn digits(text: &str) -> Option<u128> {
    text.bytes()
        .try_fold(0_u128, |n, digit| n.checked_mul(10)?.checked_add(u128::from(digit - b'0')))
}

/// Splits `text` behind the leading characters that `belongs` accepts.
fn split(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !belongs(c)).unwrap_or(text.len()))
}

#[cfg(feature = "serde")]
mod serial {
    use core::fmt;

    use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
    use serde::ser::{Serialize, Serializer};

    use super::{ParseSpanError, Span};

    impl Serialize for Span {
        /// As text: `"1.5s"`.
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(self)
        }
    }

    impl<'de> Deserialize<'de> for Span {
        /// From text; the number 0 is accepted too, any other number is told to take a unit.
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_any(SpanVisitor)
        }
    }

    struct SpanVisitor;

    impl Visitor<'_> for SpanVisitor {
        type Value = Span;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a span as text, such as \"250ms\", \"1.5s\" or \"1h30m\"")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Span, E> {
            text.parse().map_err(|error: ParseSpanError| {
                E::custom(format_args!("{text:?}: must be {error}"))
            })
        }

        fn visit_u64<E: Error>(self, n: u64) -> Result<Span, E> {
            if n == 0 {
                return Ok(Span::ZERO);
            }
            Err(E::invalid_type(Unexpected::Unsigned(n), &self))
        }

        fn visit_i64<E: Error>(self, n: i64) -> Result<Span, E> {
            if n == 0 {
                return Ok(Span::ZERO);
            }
            Err(E::invalid_type(Unexpected::Signed(n), &self))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ParseSpanError::{Malformed, Negative, NoUnit, Order, TooFine, TooLong, UnknownUnit};

    fn nanos(text: &str) -> Result<u64, ParseSpanError> {
        text.parse().map(Span::as_nanos)
    }

    #[test]
    fn every_unit_is_read_exactly() {
        for (text, expected) in [
            ("7ns", 7),
            ("25us", 25_000),
            ("25\u{b5}s", 25_000),
            ("25\u{3bc}s", 25_000),
            ("250ms", 250_000_000),
            ("1.5s", 1_500_000_000),
            ("0.1s", 100_000_000),
            ("90s", 90_000_000_000),
            ("2m", 120_000_000_000),
            ("1h30m", 5_400_000_000_000),
            (" 1h  30m ", 5_400_000_000_000),
            ("1d 2h 3m 4s 5ms 6us 7ns", 93_784_005_006_007),
            ("0", 0),
            ("0s", 0),
            ("0.000000001s", 1),
            ("0.000000001000s", 1),
            ("0.0000152587890625d", 1_318_359_375),
            ("007s", 7_000_000_000),
        ] {
            assert_eq!(nanos(text), Ok(expected), "{text:?}");
        }
    }

    #[test]
    fn every_other_text_is_refused_with_its_reason() {
        for (text, reason) in [
            ("", Malformed),
            ("   ", Malformed),
            ("s", Malformed),
            (".5s", Malformed),
            ("5.s", Malformed),
            ("1,5s", Malformed),
            ("+5s", Malformed),
            ("nan", Malformed),
            ("inf", Malformed),
            ("PT5S", Malformed),
            ("\u{665}s", Malformed),
            ("1h-30m", Malformed),
            ("5", NoUnit),
            ("1.5", NoUnit),
            ("00", NoUnit),
            ("5 s", NoUnit),
            ("1h30", NoUnit),
            ("1e3s", UnknownUnit),
            ("1e3", UnknownUnit),
            ("5M", UnknownUnit),
            ("5S", UnknownUnit),
            ("5sec", UnknownUnit),
            ("2w", UnknownUnit),
            ("30m1h", Order),
            ("1s1s", Order),
            ("1us 1\u{b5}s", Order),
            ("-5s", Negative),
            ("-0", Negative),
            ("0.5ns", TooFine),
            ("0.0000000001s", TooFine),
            ("0.00000000000000001d", TooFine),
            ("18446744073709551616ns", TooLong),
            ("213504d", TooLong),
            ("213503d 24h", TooLong),
            ("99999999999999999999999999999999999999999s", TooLong),
        ] {
            assert_eq!(nanos(text), Err(reason), "{text:?}");
        }
    }

    #[test]
    fn the_longest_span_is_still_read() {
        assert_eq!("18446744073709551615ns".parse(), Ok(Span::MAX));
        assert_eq!("18446744073.709551615s".parse(), Ok(Span::MAX));
        assert!(nanos("213503d").is_ok());
    }
}
