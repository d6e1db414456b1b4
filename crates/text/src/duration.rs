//! Durations as people read them; the exact text of a span is core's.

use stagger_core::Span;

const MILLI: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MILLI;
const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// A span with three digits and one unit: `1.23 s`.
///
/// ```
/// use stagger_core::Span;
/// use stagger_text::brief;
/// assert_eq!(brief(Span::from_micros(1_234_567)), "1.23 s");
/// ```
#[must_use]
pub fn brief(span: Span) -> String {
    let nanos = span.as_nanos();
    let units: [(u64, &str); 6] = [
        (DAY * SECOND, "d"),
        (HOUR * SECOND, "h"),
        (SECOND, "s"),
        (MILLI, "ms"),
        (1_000, "us"),
        (1, "ns"),
    ];
    let Some(&(unit, name)) = units.iter().find(|&&(unit, _)| nanos >= unit) else {
        return "0 s".to_owned();
    };
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    // OK because 53 bits are more digits than are shown.
    let value = nanos as f64 / unit as f64;
    let decimals = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    let digits = format!("{value:.decimals$}");
    let digits =
        if decimals > 0 { digits.trim_end_matches('0').trim_end_matches('.') } else { &digits };
    format!("{digits} {name}")
}

/// A span in one unit, rounded down: `42 s`, `5 min`, `3 h`, `12 d`; for distances in time that go on
/// growing.
///
/// ```
/// use stagger_core::Span;
/// use stagger_text::coarse;
/// assert_eq!(coarse(Span::from_secs(359)), "5 min");
/// ```
#[must_use]
pub fn coarse(span: Span) -> String {
    let secs = span.as_nanos() / SECOND;
    match secs {
        0 => format!("{} ms", span.as_nanos() / MILLI),
        1..MINUTE => format!("{secs} s"),
        MINUTE..HOUR => format!("{} min", secs / MINUTE),
        HOUR..DAY => format!("{} h", secs / HOUR),
        _ => format!("{} d", secs / DAY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_three_digits_and_no_zeros_behind() {
        let spans = ["0", "1ns", "999us", "1.2345s", "12.35s", "100ms", "3599s", "90m", "213503d"];
        let shown = spans.map(|span| brief(span.parse().expect("a span")));
        let expected =
            ["0 s", "1 ns", "999 us", "1.23 s", "12.3 s", "100 ms", "3599 s", "1.5 h", "213503 d"];
        assert_eq!(shown, expected);
    }

    #[test]
    fn coarse_spans_are_rounded_down() {
        let spans = ["0", "37.9ms", "59.9s", "60s", "2h", "86400s"];
        let shown = spans.map(|span| coarse(span.parse().expect("a span")));
        assert_eq!(shown, ["0 ms", "37 ms", "59 s", "1 min", "2 h", "1 d"]);
    }
}
