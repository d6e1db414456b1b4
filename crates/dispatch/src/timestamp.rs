//! Instants as text: RFC 3339, in UTC and with milliseconds.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use stagger::Instant;

use crate::Error;

const NANOS_PER_MILLI: u64 = 1_000_000;
const NANOS_PER_SEC: u64 = 1_000_000_000;
const SECS_PER_DAY: u64 = 86_400;

/// Nanoseconds have nine decimals; further digits are cut off.
const DECIMALS: usize = 9;

/// An instant since the Unix epoch as the API, the page and operational webhooks write it: `2026-11-28T06:17:37.123Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timestamp(pub(crate) Instant);

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        let seconds = nanos / NANOS_PER_SEC;
        let (year, month, day) = date(seconds / SECS_PER_DAY);
        let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
        let millis = nanos % NANOS_PER_SEC / NANOS_PER_MILLI;
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
    }
}

impl FromStr for Timestamp {
    type Err = NotRfc3339;

    /// Reads any zone. Before the epoch is the epoch, after the last instant is the last one: as a
    /// bound in time both mean the same.
    fn from_str(text: &str) -> Result<Self, NotRfc3339> {
        parse(text.as_bytes()).map(Self).ok_or(NotRfc3339)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The format that a timestamp must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotRfc3339;

impl fmt::Display for NotRfc3339 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time as in RFC 3339, such as 2026-11-28T06:17:37Z")
    }
}

/// Days from 1 March of the year 0 to the epoch. Years are counted from March, so that the leap day
/// comes last and the months before one are 30.6 days each, rounded.
const EPOCH: u64 = 719_468;
/// Days of 400 years, after which the calendar begins anew.
const ERA: u64 = 146_097;

/// The day that is `days` after the epoch: year, month, day.
const fn date(days: u64) -> (u64, u64, u64) {
    let days = days + EPOCH;
    let (era, day) = (days / ERA, days % ERA);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let year = year + 400 * era;
    if month < 10 { (year, month + 3, day) } else { (year + 1, month - 9, day) }
}

/// Days from the epoch to a date of the Gregorian calendar, below zero before it.
const fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    // OK because the number of days is a small constant.
    365 * year + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468
}

/// RFC 3339 section 5.6, `date-time`.
fn parse(text: &[u8]) -> Option<Instant> {
    let (date, rest) = text.split_at_checked(10)?;
    let (separator, rest) = rest.split_first()?;
    let (time, rest) = rest.split_at_checked(8)?;
    if !matches!(separator, b'T' | b't' | b' ') {
        return None;
    }
    let (fraction, zone) = fraction(rest)?;
    let seconds = day(date)? * 86_400 + time_of_day(time)? - offset(zone)?;
    let nanos = i128::from(seconds) * i128::from(NANOS_PER_SEC) + i128::from(fraction);
    Some(Instant::from_nanos(u64::try_from(nanos.max(0)).unwrap_or(u64::MAX)))
}

fn day(text: &[u8]) -> Option<i64> {
    let [year, month, day] = numbers(text, b"0000-00-00")?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    (1..=length).contains(&day).then(|| days(year, month, day))
}

/// Seconds since midnight. A leap second counts as the second after.
fn time_of_day(text: &[u8]) -> Option<i64> {
    let [hour, minute, second] = numbers(text, b"00:00:00")?;
    (hour < 24 && minute < 60 && second <= 60).then_some(hour * 3_600 + minute * 60 + second)
}

/// The nanoseconds behind a full stop, if there is one, and what follows.
fn fraction(text: &[u8]) -> Option<(u64, &[u8])> {
    let Some(rest) = text.strip_prefix(b".") else { return Some((0, text)) };
    let length = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
    let (decimals, rest) = rest.split_at(length);
    let digit = |at| decimals.get(at).map_or(0, |byte| u64::from(byte - b'0'));
    let nanos = (0..DECIMALS).fold(0, |sum, at| sum * 10 + digit(at));
    (length > 0).then_some((nanos, rest))
}

/// The offset of the local time from UTC, in seconds.
fn offset(zone: &[u8]) -> Option<i64> {
    let (sign, rest) = zone.split_first()?;
    if matches!(sign, b'Z' | b'z') {
        return rest.is_empty().then_some(0);
    }
    let [hour, minute, _] = numbers(rest, b"00:00")?;
    let ahead = (hour < 24 && minute < 60).then_some(hour * 3_600 + minute * 60)?;
    match sign {
        b'+' => Some(ahead),
        b'-' => Some(-ahead),
        _ => None,
    }
}

/// The numbers in a text of this shape, where `0` stands for any digit.
fn numbers(text: &[u8], shape: &[u8]) -> Option<[i64; 3]> {
    let fits = |(byte, sign): (&u8, &u8)| {
        if *sign == b'0' { byte.is_ascii_digit() } else { byte == sign }
    };
    if text.len() != shape.len() || !text.iter().zip(shape).all(fits) {
        return None;
    }
    let mut found = [0; 3];
    let parts = text.split(|byte| !byte.is_ascii_digit());
    for (number, digits) in found.iter_mut().zip(parts) {
        *number = digits.iter().fold(0, |sum, byte| sum * 10 + i64::from(byte - b'0'));
    }
    Some(found)
}

/// The instant in `text`, if there is one.
///
/// # Errors
/// `field`: it is no time.
pub(crate) fn bound(field: &'static str, text: Option<&str>) -> Result<Option<Instant>, Error> {
    let Some(text) = text else { return Ok(None) };
    let parsed = text.parse::<Timestamp>();
    parsed
        .map(|Timestamp(at)| Some(at))
        .map_err(|NotRfc3339| Error::invalid(field, text, NotRfc3339.to_string()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn nanos(text: &str) -> Option<u64> {
        text.parse::<Timestamp>().ok().map(|Timestamp(at)| at.as_nanos())
    }

    fn shown(nanos: u64) -> String {
        Timestamp(Instant::from_nanos(nanos)).to_string()
    }

    #[test]
    fn a_leap_day_and_a_turn_of_the_year_were_a_day_off() {
        assert_eq!(shown(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(shown(951_782_400_999_999_999), "2000-02-29T00:00:00.999Z");
        assert_eq!(shown(978_307_199_000_000_000), "2000-12-31T23:59:59.000Z");
        assert_eq!(shown(4_107_542_400_000_000_000), "2100-03-01T00:00:00.000Z");
        assert_eq!(shown(u64::MAX), "2554-07-21T23:34:33.709Z");
    }

    #[test]
    fn zones_and_fractions_name_the_same_moment() {
        let noon = nanos("2026-11-28T12:00:00Z");
        assert!(noon.is_some());
        assert_eq!(nanos("2026-11-28T13:30:00+01:30"), noon);
        assert_eq!(nanos("2026-11-28t07:00:00.000000000999-05:00"), noon);
        assert_eq!(nanos("1970-01-01 00:00:00.25z"), Some(250_000_000));
        assert_eq!(nanos("2016-12-31T23:59:60Z"), nanos("2017-01-01T00:00:00Z"));
    }

    #[test]
    fn bounds_beyond_all_instants_are_kept_as_bounds() {
        assert_eq!(nanos("0000-01-01T00:00:00Z"), Some(0));
        assert_eq!(nanos("9999-12-31T23:59:59Z"), Some(u64::MAX));
    }

    #[test]
    fn impossible_dates_are_refused() {
        for text in [
            "",
            "2026",
            "2026-11-28",
            "2026-11-28T12:00:00",
            "2026-11-28T12:00Z",
            "2025-02-29T00:00:00Z",
            "2100-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01T00:00:61Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00+24:00",
            "2026-01-01T00:00:00+1:00",
            "2026-01-01T00:00:00Zz",
            "2026-01-01X00:00:00Z",
            "+026-01-01T00:00:00Z",
        ] {
            assert_eq!(nanos(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_timestamp_is_read_back_to_the_millisecond(at: u64) {
            let whole = at - at % NANOS_PER_MILLI;
            prop_assert_eq!(nanos(&shown(at)), Some(whole));
        }

        #[test]
        fn any_text_is_read_or_refused(text: String) {
            let _ = nanos(&text);
        }
    }
}
