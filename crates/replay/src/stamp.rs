//! Time stamps of logs, as nanoseconds since the epoch with the grain that they were written in, and their
//! decimals.
//!
//! Numbers with decimals and units become whole nanoseconds without a float between.

use std::str;

use stagger_core::{Instant, Span};
use stagger_text::{Timestamp, common_log_date, lenient_date, utc_date, zoneless_date};

/// An instant of the wall clock, from 1970 to 2554.
///
/// ```
/// use stagger_core::Span;
/// use stagger_replay::Stamp;
/// let rfc3339 = Stamp::read("2016-04-15T20:17:00.310Z").expect("a date");
/// assert_eq!(rfc3339.since_epoch, Span::from_millis(1_460_751_420_310));
/// assert_eq!(rfc3339.grain, Span::from_millis(1));
/// // The unit of a bare number is told by its magnitude.
/// assert_eq!(Stamp::read("1460751420310"), Some(rfc3339));
/// // The date of the common log format.
/// let combined = Stamp::read("15/Apr/2016:13:17:00 -0700").expect("a date");
/// assert_eq!(combined.to_string(), "2016-04-15T20:17:00Z");
/// assert_eq!(Stamp::read("yesterday"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The time since 1970-01-01T00:00:00Z, leap seconds not counted.
    pub since_epoch: Span,
    /// The step between two stamps of this form: a second without decimals, a millisecond with
    /// three of them.
    pub grain: Span,
}

impl Stamp {
    /// Reads a date of the common log format, one of RFC 3339, or a number since the epoch.
    ///
    /// A number below 10^11 counts seconds, below 10^14 milliseconds, below 10^17 microseconds, and
    /// nanoseconds from there on: each reaches beyond the year 5000. A date without a zone is read
    /// as UTC.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        Self::number(text.as_bytes()).or_else(|| Self::iso(text)).or_else(|| {
            let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
            Self::common(inner.unwrap_or(text).as_bytes())
        })
    }

    /// `10/Oct/2000:13:55:36 -0700`, which is `$time_local` of nginx and `%t` of Apache.
    pub(crate) fn common(text: &[u8]) -> Option<Self> {
        Self::new(common_log_date(text)?, 0)
    }

    fn number(text: &[u8]) -> Option<Self> {
        let whole = text.iter().position(|&byte| byte == b'.').unwrap_or(text.len());
        let count = digits(&text[..whole])?;
        let bounds = [(11, Unit::Seconds), (14, Unit::Millis), (17, Unit::Micros)];
        let fits = bounds.iter().find(|(digits, _)| count < 10_u64.pow(*digits));
        let unit = fits.map_or(Unit::Nanos, |&(_, unit)| unit);
        let (since_epoch, decimals) = nanos(text, unit)?;
        Some(Self { since_epoch, grain: grain(unit, decimals) })
    }

    /// `06/Feb/2009:12:14:14.655` of HAProxy, which names no zone: it is read as UTC.
    pub(crate) fn common_without_zone(text: &[u8]) -> Option<Self> {
        let nanos = zoneless_date("%d/%b/%Y:%H:%M:%S%.f", text)?;
        let point = text.iter().position(|&byte| byte == b'.');
        let decimals = point.map_or(0, |at| text.len() - at - 1);
        Self::new(nanos, u32::try_from(decimals).ok()?)
    }

    /// `Mon Aug 23 14:25:54 2010` of C's `ctime`, which names no zone: it is read as UTC.
    pub(crate) fn ctime(text: &[u8]) -> Option<Self> {
        Self::new(zoneless_date("%a %b %e %H:%M:%S %Y", text)?, 0)
    }

    /// A date of RFC 3339; one without a zone is read as UTC.
    pub(crate) fn iso(text: &str) -> Option<Self> {
        // Anything else would be handed to a parser of far more forms than these.
        if !text.as_bytes().get(..5).is_some_and(|year| year.ends_with(b"-")) {
            return None;
        }
        let nanos = lenient_date(text).or_else(|| utc_date(text))?;
        let decimals = text
            .split_once('.')
            .map_or(0, |(_, rest)| rest.bytes().take_while(u8::is_ascii_digit).count());
        Self::new(nanos, u32::try_from(decimals).ok()?)
    }

    fn new(nanos: i128, decimals: u32) -> Option<Self> {
        let nanos = u64::try_from(nanos).ok()?;
        Some(Self { since_epoch: Span::from_nanos(nanos), grain: grain(Unit::Seconds, decimals) })
    }
}

impl std::fmt::Display for Stamp {
    /// As RFC 3339 in UTC.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&Timestamp(Instant::ORIGIN + self.since_epoch).exact())
    }
}

fn grain(unit: Unit, decimals: u32) -> Span {
    let parts = 10_u64.checked_pow(decimals).unwrap_or(u64::MAX);
    Span::from_nanos((unit.nanos() / parts).max(1))
}

/// The text, if it is UTF-8.
pub(crate) fn text(bytes: &[u8]) -> Option<&str> {
    str::from_utf8(bytes).ok()
}

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

/// The unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Millis,
    /// Microseconds.
    Micros,
    /// Nanoseconds.
    Nanos,
}

impl Unit {
    /// Nanoseconds in one.
    pub(crate) const fn nanos(self) -> u64 {
        match self {
            Self::Seconds => 1_000_000_000,
            Self::Millis => 1_000_000,
            Self::Micros => 1_000,
            Self::Nanos => 1,
        }
    }

    /// The unit of this symbol: `s`, `ms`, `us` or `ns`.
    pub(crate) fn of_symbol(text: &str) -> Option<Self> {
        match text {
            "s" => Some(Self::Seconds),
            "ms" => Some(Self::Millis),
            "us" => Some(Self::Micros),
            "ns" => Some(Self::Nanos),
            _ => None,
        }
    }

    /// The unit that a column's name promises: `latency_us`, `duration-seconds`, `ms`.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let last = name.rsplit(['_', '-', '.', ' ']).next().unwrap_or(name);
        match last.to_ascii_lowercase().as_str() {
            "seconds" | "secs" | "sec" => Some(Self::Seconds),
            "millis" | "milliseconds" | "msec" => Some(Self::Millis),
            "micros" | "microseconds" | "usec" => Some(Self::Micros),
            "nanos" | "nanoseconds" | "nsec" | "nano" => Some(Self::Nanos),
            symbol => Self::of_symbol(symbol),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamped(text: &str) -> Option<u64> {
        Stamp::read(text).map(|stamp| stamp.since_epoch.as_nanos())
    }

    #[test]
    fn all_forms_name_the_same_instant() {
        const AT: u64 = 1_700_000_000_123_000_000;
        for text in [
            "2023-11-14T22:13:20.123Z",
            "2023-11-14T23:13:20.123+01:00",
            "2023-11-14 22:13:20.123",
            "1700000000.123",
            "1700000000123",
            "1700000000123000",
            "1700000000123000000",
        ] {
            assert_eq!(stamped(text), Some(AT), "{text}");
        }
        for text in ["14/Nov/2023:15:13:20 -0700", "[14/Nov/2023:22:13:20 +0000]", "1700000000"] {
            assert_eq!(stamped(text), Some(1_700_000_000_000_000_000), "{text}");
        }
    }

    #[test]
    fn the_grain_is_what_was_written() {
        let grain = |text| Stamp::read(text).map(|stamp| stamp.grain.as_nanos());
        assert_eq!(grain("1700000000"), Some(1_000_000_000));
        assert_eq!(grain("1700000000.5"), Some(100_000_000));
        assert_eq!(grain("1700000000123"), Some(1_000_000));
        assert_eq!(grain("2023-11-14T22:13:20Z"), Some(1_000_000_000));
        assert_eq!(grain("2023-11-14T22:13:20.123456+01:00"), Some(1_000));
        assert_eq!(grain("14/Nov/2023:15:13:20 -0700"), Some(1_000_000_000));
    }

    #[test]
    fn impossible_dates_are_none() {
        for text in [
            "",
            "-",
            "31/Feb/2023:00:00:00 +0000",
            "14/Nov/2023:25:00:00 +0000",
            "14/Nov/2023:22:13:20",
            "2023-02-30T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "-1",
            "99999999999999999999",
            "2600-01-01T00:00:00Z",
        ] {
            assert_eq!(stamped(text), None, "{text}");
        }
    }

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
