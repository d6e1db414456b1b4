//! Dates of RFC 3339, which is how some providers say when a quota comes back.

use super::{WallTime, decimal};
use crate::Span;

const SECS_PER_DAY: i64 = 86_400;

/// Reads `2026-11-28T04:55:00Z`, with a fraction or a zone if there is one. Impossible dates are
/// `None`; a leap second counts as the second after. Source: RFC 3339 section 5.6.
pub(super) fn wall_time(text: &[u8]) -> Option<WallTime> {
    let (date, rest) = text.split_at_checked(10)?;
    let (separator, rest) = rest.split_first()?;
    let (minutes, rest) = rest.split_at_checked(6)?;
    let zone_at = rest.iter().position(|byte| matches!(byte, b'Z' | b'z' | b'+' | b'-'))?;
    let (seconds, zone) = rest.split_at(zone_at);
    if !matches!(separator, b'T' | b't' | b' ') {
        return None;
    }
    let whole = day(date)? * SECS_PER_DAY + clock(minutes, b"00:00:")? - offset(zone)?;
    Some(WallTime::from_unix_secs(whole).plus(within_minute(seconds)?))
}

/// Days since the epoch.
fn day(text: &[u8]) -> Option<i64> {
    if !has_shape(text, b"0000-00-00") {
        return None;
    }
    let (year, month, day) = (number(&text[..4]), number(&text[5..7]), number(&text[8..]));
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    (1..=length).contains(&day).then(|| days_before(year, month) + day - 1)
}

/// Days from the epoch to the first of a month. Years are counted from March, so that the leap day
/// comes last: the months before one are then 30.6 days each, rounded.
fn days_before(year: i64, month: i64) -> i64 {
    /// From 1 March of year 0 to the epoch.
    const EPOCH: i64 = 719_468;
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    365 * year + leap_days + (153 * month + 2) / 5 - EPOCH
}

/// Hours and minutes, in seconds.
fn clock(text: &[u8], shape: &[u8]) -> Option<i64> {
    if !has_shape(text, shape) {
        return None;
    }
    let (hour, minute) = (number(&text[..2]), number(&text[3..5]));
    (hour < 24 && minute < 60).then_some(hour * 3_600 + minute * 60)
}

/// Two digits and perhaps a fraction, up to the leap second.
fn within_minute(text: &[u8]) -> Option<Span> {
    let two_digits = text.iter().position(|&byte| byte == b'.').unwrap_or(text.len()) == 2;
    let span = decimal::span(text, decimal::SECONDS)?;
    (two_digits && span < Span::from_secs(61)).then_some(span)
}

/// `Z`, or how far the local time is ahead of it, in seconds.
fn offset(zone: &[u8]) -> Option<i64> {
    match zone.split_first()? {
        (b'Z' | b'z', []) => Some(0),
        (b'+', ahead) => clock(ahead, b"00:00"),
        (b'-', behind) => clock(behind, b"00:00").map(|span| -span),
        _ => None,
    }
}

fn has_shape(text: &[u8], shape: &[u8]) -> bool {
    let fits = |(&byte, &sign): (&u8, &u8)| {
        if sign == b'0' { byte.is_ascii_digit() } else { byte == sign }
    };
    text.len() == shape.len() && text.iter().zip(shape).all(fits)
}

/// The number in a few digits.
fn number(digits: &[u8]) -> i64 {
    digits.iter().fold(0, |sum, &byte| sum * 10 + i64::from(byte.saturating_sub(b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn secs(text: &str) -> Option<i64> {
        wall_time(text.as_bytes()).map(WallTime::unix_secs)
    }

    #[test]
    fn a_quota_until_a_date_was_no_hint() {
        assert_eq!(secs("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(secs("1994-11-06T08:49:37Z"), Some(784_111_777));
        assert_eq!(secs("1994-11-06t09:49:37.25+01:00"), Some(784_111_777));
        assert_eq!(secs("2000-02-29T23:59:59-00:30"), Some(951_870_599));
        assert_eq!(secs("2016-12-31T23:59:60Z"), Some(1_483_228_800));
        assert_eq!(secs("0000-01-01T00:00:00Z"), Some(-62_167_219_200));
        let late = wall_time(b"1970-01-01T00:00:01.25Z").expect("a date");
        assert_eq!(WallTime::from_unix_secs(0).until(late), Span::from_millis(1_250));
    }

    #[test]
    fn impossible_dates_are_no_dates() {
        for text in [
            "2025-02-29T00:00:00Z",
            "2100-02-29T00:00:00Z",
            "2025-13-01T00:00:00Z",
            "2025-00-01T00:00:00Z",
            "2025-04-31T00:00:00Z",
            "2025-01-01T24:00:00Z",
            "2025-01-01T00:60:00Z",
            "2025-01-01T00:00:61Z",
            "2025-01-01T00:00:00",
            "2025-01-01T00:00:0Z",
            "2025-01-01T00:00:00.Z",
            "2025-01-01T00:00:00+1:00",
            "2025-01-01T00:00:00Zulu",
            "2025-01-01",
            "",
        ] {
            assert_eq!(secs(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(text: Vec<u8>) {
            let _ = wall_time(&text);
        }

        #[test]
        fn days_go_one_by_one(year in 0..9_999_i64, month in 1..=12_i64) {
            let (next_year, next) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
            let length = days_before(next_year, next) - days_before(year, month);
            prop_assert!((28..=31).contains(&length));
        }
    }
}
