//! `Retry-After`: seconds, or an HTTP-date (RFC 9110 section 10.2.3); its kin in milliseconds
//! (`retry-after-ms`, `x-ms-retry-after-ms`, `x-amz-retry-after`); and gRPC's pushback,
//! `grpc-retry-pushback-ms` in the trailers (gRFC A6, "Pushback").

use super::{WallTime, decimal};
use crate::{Hint, Span};

/// Reads one `Retry-After` field line; `now` is the server's `Date`, or else the wall clock.
///
/// Seconds are digits, or leniently digits with a fraction, which is kept. Dates need the
/// `http-date` feature and `now`; one that has passed is [`Span::ZERO`]. A line of several values
/// joined by commas, as proxies make them, gives the longest valid one. Anything else is no hint:
/// `-1`, `+5`, `1e3`, `nan`, an impossible date, or nothing at all.
///
/// ```
/// use stagger_core::{Span, hint::retry_after};
/// assert_eq!(retry_after(b"120", None), Some(Span::from_secs(120)));
/// assert_eq!(retry_after(b" 2.5 ", None), Some(Span::from_millis(2_500)));
/// assert_eq!(retry_after(b"-1", None), None);
/// ```
#[must_use]
pub fn retry_after(value: &[u8], now: Option<WallTime>) -> Option<Span> {
    let mut longest = None;
    let mut rest = Some(value);
    while let Some(line) = rest {
        let (hint, left) = first(line, now);
        longest = longest.max(hint);
        rest = left;
    }
    longest
}

/// The first member of a comma-joined line, and what is left after it.
///
/// Two of the three date forms hold a comma themselves, after the name of the day; so a part that
/// is no value by itself may be one together with the next.
fn first(line: &[u8], now: Option<WallTime>) -> (Option<Span>, Option<&[u8]>) {
    let Some(comma) = comma_from(line, 0) else { return (member(line, now), None) };
    let hint = member(&line[..comma], now);
    if hint.is_some() {
        return (hint, Some(&line[comma + 1..]));
    }
    let second = comma_from(line, comma + 1);
    match member(&line[..second.unwrap_or(line.len())], now) {
        None => (None, Some(&line[comma + 1..])),
        date => (date, second.map(|at| &line[at + 1..])),
    }
}

fn comma_from(line: &[u8], start: usize) -> Option<usize> {
    line[start..].iter().position(|&b| b == b',').map(|at| start + at)
}

fn member(text: &[u8], now: Option<WallTime>) -> Option<Span> {
    let text = decimal::trim(text);
    decimal::span(text, decimal::SECONDS).or_else(|| date(text, now?))
}

#[cfg(feature = "http-date")]
fn date(text: &[u8], now: WallTime) -> Option<Span> {
    super::http_date(text, Some(now)).map(|named| now.until(named))
}

/// Without the feature a date is no hint.
#[cfg(not(feature = "http-date"))]
fn date(_text: &[u8], _now: WallTime) -> Option<Span> {
    None
}

/// Reads a hint in milliseconds: digits, or digits with a fraction; outer blanks do not count.
///
/// Rounded up to the nanosecond; anything else is no hint.
///
/// ```
/// use stagger_core::{Span, hint::retry_after_ms};
/// assert_eq!(retry_after_ms(b"1500"), Some(Span::from_millis(1_500)));
/// assert_eq!(retry_after_ms(b"0.25"), Some(Span::from_micros(250)));
/// assert_eq!(retry_after_ms(b"-100"), None);
/// ```
#[must_use]
pub fn retry_after_ms(value: &[u8]) -> Option<Span> {
    decimal::span(decimal::trim(value), decimal::MILLIS)
}

/// The longest pushback, because the value is a signed 32-bit integer.
// OK because i32::MAX is positive.
const MAX_MILLIS: u64 = i32::MAX as u64;

/// Reads all values of `grpc-retry-pushback-ms`: none is no hint, one number from 0 on is a delay
/// to keep exactly.
///
/// Everything else means do not retry: a negative number, one outside 32 bits, text that is no
/// number, and two values or more, even equal ones. Outer blanks do not count, because gRPC lets
/// transports strip them; a plus sign is no digit.
///
/// ```
/// use stagger_core::{Hint, Span, hint::pushback};
/// assert_eq!(pushback([]), None);
/// assert_eq!(pushback([&b"250"[..]]), Some(Hint::Exactly(Span::from_millis(250))));
/// assert_eq!(pushback([&b"-1"[..]]), Some(Hint::Never));
/// assert_eq!(pushback([&b"100"[..], b"10"]), Some(Hint::Never));
/// ```
#[must_use]
pub fn pushback<'v>(values: impl IntoIterator<Item = &'v [u8]>) -> Option<Hint> {
    let mut values = values.into_iter();
    let only = values.next()?;
    if values.next().is_some() {
        return Some(Hint::Never);
    }
    let millis = decimal::digits(decimal::trim(only)).filter(|&ms| ms <= MAX_MILLIS);
    Some(millis.map_or(Hint::Never, |ms| Hint::Exactly(Span::from_millis(ms))))
}
