//! Instants since the Unix epoch as text: RFC 3339 in UTC and with milliseconds, and the dates of logs.

use std::fmt;
use std::str::FromStr;

use jiff::civil::{DateTime, datetime};
use jiff::fmt::strtime;
use jiff::tz::Offset;
use serde::{Serialize, Serializer};
use stagger_core::Instant;

const NANOS_PER_SEC: i128 = 1_000_000_000;
const EPOCH: DateTime = datetime(1970, 1, 1, 0, 0, 0, 0);
/// The bytes of `2026-11-28T06:17:37`.
const TO_THE_SECOND: usize = 19;
/// The bytes of a full stop and nine decimals; further digits are cut off.
const FRACTION: usize = 10;

/// An instant since the Unix epoch, as APIs and pages write it.
///
/// ```
/// use stagger_text::Timestamp;
/// let at: Timestamp = "2026-11-28T07:17:37.1234+01:00".parse().expect("a time");
/// assert_eq!(at.to_string(), "2026-11-28T06:17:37.123Z");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamp(pub Instant);

impl Timestamp {
    /// The same instant with as many decimals as it has, down to the nanosecond: none for a whole second.
    #[must_use]
    pub fn exact(self) -> String {
        moment(self.0).to_string()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", moment(self.0))
    }
}

impl FromStr for Timestamp {
    type Err = NotRfc3339;

    /// Reads any zone. Before the epoch is the epoch, after the last instant is the last one: as a
    /// bound in time both mean the same.
    fn from_str(text: &str) -> Result<Self, NotRfc3339> {
        let nanos = rfc3339(text).ok_or(NotRfc3339)?.max(0);
        Ok(Self(Instant::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The format that a timestamp must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotRfc3339;

impl fmt::Display for NotRfc3339 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time as in RFC 3339, such as 2026-11-28T06:17:37Z")
    }
}

impl std::error::Error for NotRfc3339 {}

/// A date with its zone in one of the many forms of ISO 8601; nanoseconds since the epoch.
#[must_use]
pub fn lenient_date(text: &str) -> Option<i128> {
    text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_nanosecond)
}

/// A date without a zone, read as UTC; nanoseconds since the epoch.
#[must_use]
pub fn utc_date(text: &str) -> Option<i128> {
    let date = text.parse::<DateTime>().ok()?;
    Some(Offset::UTC.to_timestamp(date).ok()?.as_nanosecond())
}

/// `10/Oct/2000:13:55:36 -0700`, the date of the common log format; nanoseconds since the epoch.
#[must_use]
pub fn common_log_date(text: &[u8]) -> Option<i128> {
    let date = strtime::parse(b"%d/%b/%Y:%H:%M:%S %z", text).ok()?;
    Some(date.to_timestamp().ok()?.as_nanosecond())
}

/// A date without a zone in this form of `strftime`, read as UTC; nanoseconds since the epoch.
///
/// ```
/// let ctime = stagger_text::zoneless_date("%a %b %e %H:%M:%S %Y", b"Mon Aug 23 14:25:54 2010");
/// assert_eq!(ctime, Some(1_282_573_554_000_000_000));
/// ```
#[must_use]
pub fn zoneless_date(form: &str, text: &[u8]) -> Option<i128> {
    let date = strtime::parse(form, text).ok()?.to_datetime().ok()?;
    Some(Offset::UTC.to_timestamp(date).ok()?.as_nanosecond())
}

/// RFC 3339 section 5.6, `date-time`, and nothing else that resembles it; nanoseconds since the epoch.
fn rfc3339(text: &str) -> Option<i128> {
    let (date, rest) = text.split_at_checked(TO_THE_SECOND)?;
    if !fits(date, "0000-00-00T00:00:00") {
        return None;
    }
    let end = rest
        .bytes()
        .skip(1)
        .position(|byte| !byte.is_ascii_digit())
        .map_or(rest.len(), |at| at + 1);
    let (fraction, zone) = if rest.starts_with('.') { rest.split_at(end) } else { ("", rest) };
    if fraction == "." {
        return None;
    }
    // A leap second counts as the second after.
    let (date, leap) = match date.strip_suffix(":60") {
        Some(minute) => (format!("{minute}:59"), 1),
        None => (date.to_owned(), 0),
    };
    let decimals = fraction.get(..FRACTION).unwrap_or(fraction);
    let local: DateTime = format!("{date}{decimals}").parse().ok()?;
    let seconds = leap - i128::from(offset(zone)?);
    Some(local.duration_since(EPOCH).as_nanos() + seconds * NANOS_PER_SEC)
}

/// The offset of the local time from UTC, in seconds.
fn offset(zone: &str) -> Option<i32> {
    if matches!(zone, "Z" | "z") {
        return Some(0);
    }
    if !fits(zone, "+00:00") {
        return None;
    }
    let (hours, minutes) =
        (zone.get(1..3)?.parse::<i32>().ok()?, zone.get(4..)?.parse::<i32>().ok()?);
    let ahead = (hours < 24 && minutes < 60).then_some(hours * 3_600 + minutes * 60)?;
    Some(if zone.starts_with('-') { -ahead } else { ahead })
}

/// Whether a text has this shape: `0` stands for a digit, `T` for what parts date and time, `+` for a sign.
fn fits(text: &str, shape: &str) -> bool {
    let same = |(byte, sign): (u8, u8)| match sign {
        b'0' => byte.is_ascii_digit(),
        b'T' => matches!(byte, b'T' | b't' | b' '),
        b'+' => matches!(byte, b'+' | b'-'),
        sign => byte == sign,
    };
    text.len() == shape.len() && text.bytes().zip(shape.bytes()).all(same)
}

fn moment(at: Instant) -> jiff::Timestamp {
    // OK because 2^64 nanoseconds end in the year 2554, and jiff's calendar in 9999.
    jiff::Timestamp::from_nanosecond(at.as_nanos().into()).unwrap_or(jiff::Timestamp::MAX)
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
            let whole = at - at % 1_000_000;
            prop_assert_eq!(nanos(&shown(at)), Some(whole));
        }

        #[test]
        fn any_text_is_read_or_refused(text: String) {
            let _ = nanos(&text);
        }
    }
}
