//! A time as the browser's picker writes it: `2026-11-28T06:17`, read as UTC.

use stagger::{Instant, Span};

const DAYS_BEFORE: [u64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];

/// The time, if the text is one from 1970 on.
pub(super) fn parse(text: &str) -> Option<Instant> {
    let (date, time) = text.split_once(['T', ' '])?;
    let mut date = date.splitn(3, '-').map(number);
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let mut time = time.trim_end_matches('Z').splitn(3, ':').map(number);
    let (hour, minute, second) = (time.next()??, time.next()??, time.next().unwrap_or(Some(0))?);
    let possible = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    let days = possible.then(|| days(year, month, day))?;
    let secs = ((days * 24 + hour) * 60 + minute) * 60 + second;
    Some(Instant::ORIGIN + Span::from_secs(secs))
}

fn number(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|b| b.is_ascii_digit()) && text.len() <= 4;
    digits.then(|| text.parse().ok()).flatten()
}

/// Days from 1970-01-01; the 31st of a shorter month is the first of the next.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let leap_days = |year: u64| year / 4 - year / 100 + year / 400;
    let is_leap = leap_days(year) > leap_days(year - 1);
    let before =
        DAYS_BEFORE.iter().zip(1..).find(|(_, n)| *n == month).map_or(0, |(days, _)| *days);
    let leap = leap_days(year - 1) - leap_days(1969) + u64::from(is_leap && month > 2);
    (year - 1970) * 365 + leap + before + day - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::view::Moment;

    #[test]
    fn a_time_is_read_as_it_was_written() {
        for secs in (0..200_000).map(|n| n * 86_399 / 7 + n) {
            let at = Instant::ORIGIN + Span::from_secs(secs);
            let text = Moment::new(at, at).exact();
            assert_eq!(parse(&text[..19]), Some(at), "{text}");
        }
        let noon = parse("2026-11-28T12:00").unwrap();
        assert_eq!(Moment::new(noon, noon).exact(), "2026-11-28T12:00:00.000Z");
    }

    #[test]
    fn a_text_that_is_no_time_is_refused() {
        for text in
            ["", "now", "2026-11-28", "2026-13-01T00:00", "1969-01-01T00:00", "2026-1-1T24:00"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
