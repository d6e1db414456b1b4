//! Time stamps of logs, as nanoseconds since the epoch with the grain that they were written in.

use std::str;

use stagger_core::{Instant, Span};
use stagger_text::{Timestamp, common_log_date, lenient_date, utc_date};

use crate::decimal;
use crate::unit::Unit;

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
        Self::number(text.as_bytes()).or_else(|| Self::date(text)).or_else(|| {
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
        let count = decimal::digits(&text[..whole])?;
        let bounds = [(11, Unit::Seconds), (14, Unit::Millis), (17, Unit::Micros)];
        let fits = bounds.iter().find(|(digits, _)| count < 10_u64.pow(*digits));
        let unit = fits.map_or(Unit::Nanos, |&(_, unit)| unit);
        let (since_epoch, decimals) = decimal::nanos(text, unit)?;
        Some(Self { since_epoch, grain: grain(unit, decimals) })
    }

    fn date(text: &str) -> Option<Self> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn nanos(text: &str) -> Option<u64> {
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
            assert_eq!(nanos(text), Some(AT), "{text}");
        }
        for text in ["14/Nov/2023:15:13:20 -0700", "[14/Nov/2023:22:13:20 +0000]", "1700000000"] {
            assert_eq!(nanos(text), Some(1_700_000_000_000_000_000), "{text}");
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
            assert_eq!(nanos(text), None, "{text}");
        }
    }
}
