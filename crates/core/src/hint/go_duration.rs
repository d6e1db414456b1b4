//! Durations as Go prints them, which is how some providers say when a quota comes back.

use super::decimal;
use crate::Span;

/// Reads `6m0s`, `1.5s` or `20ms`: numbers with a unit each, none of them negative. Rounded up to the
/// nanosecond and saturating. Syntax: `time.ParseDuration` of Go's standard library.
pub(super) fn span(mut text: &[u8]) -> Option<Span> {
    let mut sum = Span::ZERO;
    while !text.is_empty() {
        let (number, rest) = split(text, is_numeric);
        let (unit, rest) = split(rest, |byte| !is_numeric(byte));
        sum = sum + part(number, unit)?;
        text = rest;
        if text.is_empty() {
            return Some(sum);
        }
    }
    None
}

fn part(number: &[u8], unit: &[u8]) -> Option<Span> {
    let (places, times) = match unit {
        b"h" => (decimal::SECONDS, 3_600),
        b"m" => (decimal::SECONDS, 60),
        b"s" => (decimal::SECONDS, 1),
        b"ms" => (decimal::MILLIS, 1),
        // Both letters that Unicode has for micro, as Go takes them.
        b"us" | b"\xc2\xb5s" | b"\xce\xbcs" => (3, 1),
        b"ns" => (0, 1),
        _ => return None,
    };
    Some(decimal::span(number, places)?.saturating_mul(times))
}

const fn is_numeric(byte: u8) -> bool {
    byte.is_ascii_digit() || byte == b'.'
}

/// Splits `text` after the bytes at its start that satisfy `belongs`.
fn split(text: &[u8], belongs: impl Fn(u8) -> bool) -> (&[u8], &[u8]) {
    let end = text.iter().position(|&byte| !belongs(byte)).unwrap_or(text.len());
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn nanos(text: &str) -> Option<u64> {
        span(text.as_bytes()).map(Span::as_nanos)
    }

    #[test]
    fn a_quota_of_six_minutes_was_no_hint() {
        assert_eq!(nanos("6m0s"), Some(360_000_000_000));
        assert_eq!(nanos("1.5s"), Some(1_500_000_000));
        assert_eq!(nanos("20ms"), Some(20_000_000));
        assert_eq!(nanos("1h0.5m7s3µs1ns"), Some(3_637_000_003_001));
        assert_eq!(nanos("0.1ns"), Some(1), "never shorter than written");
    }

    #[test]
    fn half_a_duration_is_none() {
        for text in ["", "s", "6", "6m0", "-1s", "+1s", "6m 0s", "1d", "1.2.3s", ".s", "1e3s"] {
            assert_eq!(nanos(text), None, "{text:?}");
        }
        assert_eq!(nanos("99999999999999999999h1s"), Some(u64::MAX));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(text: Vec<u8>) {
            let _ = span(&text);
        }
    }
}
