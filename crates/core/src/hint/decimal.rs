//! Digits, or digits with a fraction, as a span that is never shorter than what was written, and the blanks
//! around a field value: spaces and tabs only (OWS, RFC 9110 section 5.6.3).

use crate::Span;

/// Decimal places between a second and a nanosecond.
pub(super) const SECONDS: u32 = 9;
/// Decimal places between a millisecond and a nanosecond.
pub(super) const MILLIS: u32 = 6;

/// Reads `digits` or `digits.digits` in units of `10^places` nanoseconds.
///
/// Rounded up to the nanosecond and saturating: forty nines are a valid wish to come back in
/// [`Span::MAX`], which any bound then refuses. Signs, exponents and words are not numbers here.
pub(super) fn span(text: &[u8], places: u32) -> Option<Span> {
    let (whole, fraction) = match text.iter().position(|&b| b == b'.') {
        Some(dot) => (&text[..dot], &text[dot + 1..]),
        None => (text, &b"0"[..]),
    };
    let whole = digits(whole)?.saturating_mul(10_u64.pow(places));
    Some(Span::from_nanos(whole.saturating_add(ceiling(fraction, places)?)))
}

/// Reads one or more digits, saturating.
pub(super) fn digits(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |sum, &byte| {
        let digit = digit(byte)?;
        Some(sum.saturating_mul(10).saturating_add(digit))
    })
}

fn digit(byte: u8) -> Option<u64> {
    byte.is_ascii_digit().then(|| u64::from(byte - b'0'))
}

/// The first `places` digits of a fraction, rounded up by what follows them.
fn ceiling(fraction: &[u8], places: u32) -> Option<u64> {
    let _all_are_digits = digits(fraction)?;
    let mut rest = fraction.iter().copied();
    let kept = (0..places).fold(0, |sum, _| {
        let next = rest.next().and_then(digit).unwrap_or(0);
        sum * 10 + next
    });
    Some(kept + u64::from(rest.any(|b| b != b'0')))
}

/// The value without blanks at either end.
pub(super) fn trim(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = text {
        text = rest;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nanos(text: &str) -> Option<u64> {
        span(text.as_bytes(), SECONDS).map(Span::as_nanos)
    }

    #[test]
    fn a_fraction_below_a_nanosecond_is_rounded_up_not_lost() {
        assert_eq!(nanos("0.0000000001"), Some(1));
        assert_eq!(nanos("0.9999999999"), Some(1_000_000_000));
        assert_eq!(nanos("0.5000000000"), Some(500_000_000));
        assert_eq!(span(b"0.0000001", MILLIS), Some(Span::from_nanos(1)));
    }

    #[test]
    fn half_a_number_is_none() {
        for text in ["", ".", ".5", "5.", "1.2.3", "1.-2", "+1", "-1", "1e3", "inf", "nan", "0x1"] {
            assert_eq!(nanos(text), None, "{text:?}");
        }
    }

    #[test]
    fn more_digits_than_any_integer_holds_saturate() {
        assert_eq!(nanos(&"9".repeat(40)), Some(u64::MAX));
        assert_eq!(nanos("18446744073.709551615"), Some(u64::MAX));
        assert_eq!(nanos("18446744073.709551616"), Some(u64::MAX));
    }

    #[test]
    fn only_spaces_and_tabs_are_blanks() {
        assert_eq!(trim(b" \t 5 6\t "), b"5 6");
        assert_eq!(trim(b"\n5\x0b"), b"\n5\x0b");
        assert_eq!(trim(b" \t"), b"");
    }
}
