//! Numbers with decimals as whole nanoseconds, without a float between.

use stagger_core::Span;

use crate::unit::Unit;

/// `text` of `unit` in whole nanoseconds, with the decimals written; what is finer is cut off.
///
/// `None` for anything but digits with one point at most, and for what no [`Span`] can hold.
pub(crate) fn nanos(text: &[u8], unit: Unit) -> Option<(Span, u32)> {
    let point = text.iter().position(|&byte| byte == b'.');
    let (whole, decimals) = match point {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &b""[..]),
    };
    if whole.is_empty() || (point.is_some() && decimals.is_empty()) {
        return None;
    }
    let mut nanos = digits(whole)?.checked_mul(unit.nanos())?;
    let mut place = unit.nanos();
    for &byte in decimals {
        if !byte.is_ascii_digit() {
            return None;
        }
        place /= 10;
        nanos = nanos.checked_add(place * u64::from(byte - b'0'))?;
    }
    Some((Span::from_nanos(nanos), u32::try_from(decimals.len()).ok()?))
}

/// A whole number.
pub(crate) fn digits(text: &[u8]) -> Option<u64> {
    let push = |sum: u64, &byte: &u8| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    };
    (!text.is_empty()).then(|| text.iter().try_fold(0, push))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact_and_nothing_else_is_a_number() {
        let read = |text: &str| nanos(text.as_bytes(), Unit::Seconds).map(|(span, _)| span);
        assert_eq!(read("0.123"), Some(Span::from_millis(123)));
        assert_eq!(read("1700000000.123456789"), Some(Span::from_nanos(1_700_000_000_123_456_789)));
        assert_eq!(read("0.0000000019"), Some(Span::from_nanos(1)));
        for no in ["", ".", "1.", ".5", "-1", "+1", "1e3", "1.2.3", "99999999999999999999", " 1"] {
            assert_eq!(read(no), None, "{no}");
        }
    }
}
