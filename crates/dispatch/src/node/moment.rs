//! Instants as operational webhooks write them.

use std::fmt;

use stagger::Instant;

/// Days from 1 March of the year 0 to the Unix epoch: years that begin in March have their leap day
/// last.
const EPOCH: u64 = 719_468;
/// Days in the 400 years after which the Gregorian calendar repeats.
const ERA: u64 = 146_097;

/// An instant in RFC 3339, UTC, with milliseconds: `2026-11-28T06:17:37.123Z`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment(pub(super) Instant);

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.as_nanos() / 1_000_000;
        let (seconds, millis) = (millis / 1000, millis % 1000);
        let (year, month, day) = date(seconds / 86_400);
        let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
    }
}

/// Year, month and day of a number of days after the epoch.
const fn date(days: u64) -> (u64, u64, u64) {
    let days = days + EPOCH;
    let (era, day) = (days / ERA, days % ERA);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let year = year + era * 400;
    if month < 10 { (year, month + 3, day) } else { (year + 1, month - 9, day) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leap_day_and_the_days_around_it_are_right() {
        let shown = |seconds: u64| Moment(Instant::from_nanos(seconds * 1_000_000_000)).to_string();
        assert_eq!(shown(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(shown(951_782_400), "2000-02-29T00:00:00.000Z");
        assert_eq!(shown(951_868_800), "2000-03-01T00:00:00.000Z");
        assert_eq!(shown(1_795_846_657), "2026-11-28T06:17:37.000Z");
    }
}
