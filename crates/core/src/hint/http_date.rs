//! HTTP-date in all three forms of RFC 9110 section 5.6.7, strict in syntax, always GMT.
//!
//! Two readers share the work. The `httpdate` crate (1.0.3) reads what servers really send, and
//! every answer that it gives for an IMF-fixdate or an asctime-date is right. Its refusals are not
//! always: of the 10 valid dates among curl's 181 vectors (lib517) it refuses five, and it accepts
//! one text that is no HTTP-date. So the rest is read here:
//!
//! - RFC 850 dates: httpdate splits the century at 1970 for ever; the RFC wants the year that is at
//!   most 50 years ahead. It also checks the day's name against the wrong century.
//! - Before 1970 (`1968`, `1900`, `1800` in the vectors): refused there; a past date is hint 0.
//! - The leap second `23:59:60`: refused there, but in the grammar. It counts as the second after,
//!   as the C library counts it. At any other minute there is no second 60.
//! - A wrong name of the day (`Sun, 06 Nov 3144`, a Monday): refused there. Recipients are to be
//!   robust, and the name adds nothing to the date; it must still be the name of some day.
//! - Blanks around the date: accepted there, line feeds too; they are no part of an HTTP-date.
//!   Field values are trimmed of spaces and tabs before they come here.

use super::WallTime;

/// `Sun, 06 Nov 1994 08:49:37 GMT`; `0` stands for a digit, `.` for a letter.
const IMF: &[u8] = b"..., 00 ... 0000 00:00:00 GMT";
/// `06-Nov-94 08:49:37 GMT`, behind the long name of the day.
const RFC850: &[u8] = b"00-...-00 00:00:00 GMT";
/// `Sun Nov  6 08:49:37 1994`; `_` stands for a digit or a space.
const ASCTIME: &[u8] = b"... ... _0 00:00:00 0000";

const MONTHS: [&[u8]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];
const DAYS: [&[u8]; 7] =
    [b"Monday", b"Tuesday", b"Wednesday", b"Thursday", b"Friday", b"Saturday", b"Sunday"];

/// Reads an HTTP-date; `now` settles the century of RFC 850's two-digit years, which cannot
/// be read without it.
///
/// Impossible dates (31 February, 24:00:00) and everything outside the grammar are `None`.
///
/// ```
/// use stagger_core::hint::{WallTime, http_date};
/// let now = Some(WallTime::from_unix_secs(1_700_000_000));
/// let date = http_date(b"Sun, 06 Nov 1994 08:49:37 GMT", now);
/// assert_eq!(date, Some(WallTime::from_unix_secs(784_111_777)));
/// assert_eq!(http_date(b"Sunday, 06-Nov-94 08:49:37 GMT", now), date);
/// assert_eq!(http_date(b"Sun Nov  6 08:49:37 1994", now), date);
/// assert_eq!(http_date(b"Sun, 31 Feb 1994 08:49:37 GMT", now), None);
/// ```
#[must_use]
pub fn http_date(text: &[u8], now: Option<WallTime>) -> Option<WallTime> {
    if has_shape(text, IMF) || has_shape(text, ASCTIME) {
        by_httpdate(text).or_else(|| by_grammar(text, now))
    } else {
        by_grammar(text, now)
    }
}

fn by_httpdate(text: &[u8]) -> Option<WallTime> {
    let text = core::str::from_utf8(text).ok()?;
    httpdate::parse_http_date(text).ok().map(WallTime::from)
}

fn by_grammar(text: &[u8], now: Option<WallTime>) -> Option<WallTime> {
    let date = Date::imf(text).or_else(|| Date::asctime(text)).or_else(|| Date::rfc850(text, now?));
    date?.at()
}

/// A date whose text has the right shape; whether there is such a day is found out by [`Date::at`].
#[derive(Clone, Copy)]
struct Date {
    year: i64,
    /// From 0.
    month: usize,
    /// From 1.
    day: i64,
    /// Seconds since midnight.
    clock: i64,
}

impl Date {
    fn imf(text: &[u8]) -> Option<Self> {
        if !has_shape(text, IMF) || !is_short_day(&text[..3]) {
            return None;
        }
        Self::new(number(&text[12..16]), &text[8..11], number(&text[5..7]), &text[17..25])
    }

    fn asctime(text: &[u8]) -> Option<Self> {
        if !has_shape(text, ASCTIME) || !is_short_day(&text[..3]) {
            return None;
        }
        Self::new(number(&text[20..24]), &text[4..7], number(&text[8..10]), &text[11..19])
    }

    /// The latest date of this two-digit year that is not more than 50 years ahead of `now`.
    fn rfc850(text: &[u8], now: WallTime) -> Option<Self> {
        let (name, rest) = text.split_at_checked(text.iter().position(|&b| b == b',')?)?;
        let rest = rest.strip_prefix(b", ")?;
        if !DAYS.contains(&name) || !has_shape(rest, RFC850) {
            return None;
        }
        let short = Self::new(number(&rest[7..9]), &rest[3..6], number(&rest[..2]), &rest[10..18])?;
        let in_century = |century: i64| Self { year: 100 * century + short.year, ..short };
        let too_far =
            |date: Self| Self { year: date.year - 50, ..date }.seconds() > now.unix_secs();
        (0..100).rev().map(in_century).find(|&date| !too_far(date))
    }

    fn new(year: i64, month: &[u8], day: i64, clock: &[u8]) -> Option<Self> {
        let month = MONTHS.iter().position(|&name| name == month)?;
        Some(Self { year, month, day, clock: seconds_of_day(clock)? })
    }

    /// The instant, if the month has such a day.
    fn at(self) -> Option<WallTime> {
        let days = match self.month {
            1 if self.is_leap_year() => 29,
            1 => 28,
            3 | 5 | 8 | 10 => 30,
            _ => 31,
        };
        (1..=days).contains(&self.day).then(|| WallTime::from_unix_secs(self.seconds()))
    }

    /// Seconds since the epoch, in the Gregorian calendar at all times.
    fn seconds(self) -> i64 {
        const BEFORE_MONTH: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
        /// Days from the start of year 0 to the epoch.
        const BEFORE_1970: i64 = 719_528;
        let past = self.year - 1;
        let leap_days = past.div_euclid(4) - past.div_euclid(100) + past.div_euclid(400) + 1;
        let leap_day = i64::from(self.month > 1 && self.is_leap_year());
        let in_year = BEFORE_MONTH[self.month] + leap_day + self.day - 1;
        (365 * self.year + leap_days + in_year - BEFORE_1970) * 86_400 + self.clock
    }

    fn is_leap_year(self) -> bool {
        self.year % 4 == 0 && (self.year % 100 != 0 || self.year % 400 == 0)
    }
}

fn has_shape(text: &[u8], shape: &[u8]) -> bool {
    text.len() == shape.len()
        && text.iter().zip(shape).all(|(byte, sign)| match sign {
            b'0' => byte.is_ascii_digit(),
            b'_' => byte.is_ascii_digit() || *byte == b' ',
            b'.' => byte.is_ascii_alphabetic(),
            _ => byte == sign,
        })
}

fn is_short_day(name: &[u8]) -> bool {
    DAYS.iter().any(|day| &day[..3] == name)
}

/// The number in a few digits; a space in front counts as 0.
fn number(digits: &[u8]) -> i64 {
    digits.iter().fold(0, |sum, &b| sum * 10 + i64::from(b.saturating_sub(b'0')))
}

/// `08:49:37` as seconds since midnight: up to 23:59:59, and 23:59:60 for a leap second.
fn seconds_of_day(clock: &[u8]) -> Option<i64> {
    let (hour, minute, second) = (number(&clock[..2]), number(&clock[3..5]), number(&clock[6..8]));
    let leap = (hour, minute, second) == (23, 59, 60);
    (hour < 24 && minute < 60 && (second < 60 || leap))
        .then_some(hour * 3600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use proptest::prelude::*;
    use std::time::{Duration, UNIX_EPOCH};

    fn secs(text: &str, now: i64) -> Option<i64> {
        http_date(text.as_bytes(), Some(WallTime::from_unix_secs(now))).map(WallTime::unix_secs)
    }

    /// 2026-11-28T00:00:00Z.
    const NOW: i64 = 1_795_824_000;

    #[test]
    fn two_digit_year_is_at_most_50_years_ahead() {
        let read = |text: &str| secs(text, NOW);
        // Saturday, 28-Nov-76 is 50 years ahead to the second, the next second is more.
        let fifty = secs("Sat, 28 Nov 2076 00:00:00 GMT", NOW);
        assert!(fifty.is_some());
        assert_eq!(read("Saturday, 28-Nov-76 00:00:00 GMT"), fifty);
        let past = secs("Sun, 28 Nov 1976 00:00:01 GMT", NOW);
        assert_eq!(read("Saturday, 28-Nov-76 00:00:01 GMT"), past);
        assert_eq!(read("Sunday, 06-Nov-94 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(read("Friday, 27-Nov-26 00:00:00 GMT"), Some(NOW - 86_400));
    }

    #[test]
    fn century_turns_with_the_clock() {
        let in_2090 = secs("Sun, 01 Jan 2090 00:00:00 GMT", NOW).unwrap();
        let in_2101 = secs("Sat, 01 Jan 2101 00:00:00 GMT", NOW);
        assert_eq!(secs("Saturday, 01-Jan-01 00:00:00 GMT", in_2090), in_2101);
    }

    #[test]
    fn leap_day_of_a_two_digit_year_is_checked_in_its_century() {
        let leap = |now| secs("Tuesday, 29-Feb-00 00:00:00 GMT", now);
        assert_eq!(leap(NOW), Some(951_782_400));
        let in_2090 = secs("Sun, 01 Jan 2090 00:00:00 GMT", NOW).unwrap();
        assert_eq!(leap(in_2090), None);
    }

    #[test]
    fn impossible_dates_are_no_dates() {
        for text in [
            "Fri, 31 Feb 2025 00:00:00 GMT",
            "Sat, 29 Feb 2025 00:00:00 GMT",
            "Mon, 29 Feb 2100 00:00:00 GMT",
            "Thu, 31 Apr 2025 00:00:00 GMT",
            "Wed, 00 Jan 2025 00:00:00 GMT",
            "Wed, 32 Jan 2025 00:00:00 GMT",
            "Wed, 01 Jan 2025 24:00:00 GMT",
            "Wed, 01 Jan 2025 23:60:00 GMT",
            "Wed, 01 Jan 2025 12:59:60 GMT",
            "Wed, 31 Dec 2025 23:59:61 GMT",
            "Wed Jan  0 00:00:00 2025",
        ] {
            assert_eq!(secs(text, NOW), None, "{text}");
        }
    }

    #[test]
    fn leap_second_counts_as_the_second_after() {
        assert_eq!(secs("Sat, 31 Dec 2016 23:59:60 GMT", NOW), Some(1_483_228_800));
    }

    #[test]
    fn httpdate_trims_what_is_no_part_of_a_date() {
        assert_eq!(secs("Sun Nov  6 08:49:37 1994     ", NOW), None);
        assert_eq!(secs("\nSun, 06 Nov 1994 08:49:37 GMT", NOW), None);
    }

    proptest! {
        #[test]
        fn own_reader_agrees_with_httpdate(at in 0..253_402_300_800_u64) {
            let theirs = UNIX_EPOCH + Duration::from_secs(at);
            let text = httpdate::fmt_http_date(theirs);
            let now = None;
            prop_assert_eq!(by_grammar(text.as_bytes(), now), Some(WallTime::from(theirs)));
            prop_assert_eq!(http_date(text.as_bytes(), now), Some(WallTime::from(theirs)));
            // The same date as asctime writes it.
            let (day, month, year) = (&text[5..7], &text[8..11], &text[12..16]);
            let day = day.strip_prefix('0').map_or_else(|| day.into(), |d| format!(" {d}"));
            let asctime = format!("{} {month} {day} {} {year}", &text[..3], &text[17..25]);
            prop_assert_eq!(by_grammar(asctime.as_bytes(), now), Some(WallTime::from(theirs)));
            prop_assert_eq!(http_date(asctime.as_bytes(), now), Some(WallTime::from(theirs)));
        }

        #[test]
        fn own_reader_accepts_all_that_httpdate_accepts(
            day in 0..40_u8, month in 0..12_usize, year in 1960..2110_u16,
            hour in 0..26_u8, minute in 0..62_u8, second in 0..62_u8, name in 0..7_usize,
        ) {
            let (name, month) = (&DAYS[name][..3], MONTHS[month]);
            let text = format!(
                "{}, {day:02} {} {year} {hour:02}:{minute:02}:{second:02} GMT",
                core::str::from_utf8(name).unwrap(), core::str::from_utf8(month).unwrap(),
            );
            let ours = by_grammar(text.as_bytes(), None);
            if let Some(theirs) = by_httpdate(text.as_bytes()) {
                prop_assert_eq!(ours, Some(theirs));
            }
        }
    }
}
