//! Numbers as people read them.

use stagger_core::{Instant, Span};

/// Between groups of three digits: narrow, and no place to break a line.
const GROUP: char = '\u{202f}';

/// A whole number in groups of three: `20 000`.
pub(crate) fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 * GROUP.len_utf8());
    if value <= -0.5 {
        text.push('\u{2212}');
    }
    for (index, digit) in digits.chars().enumerate() {
        // Four digits are read at a glance.
        if index > 0 && digits.len() > 4 && (digits.len() - index).is_multiple_of(3) {
            text.push(GROUP);
        }
        text.push(digit);
    }
    text
}

/// A number with as many digits as say something: `0.35`, `12.9`, `1 550`.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        size if size < 0.1 => trimmed(format!("{value:.4}")),
        size if size < 10.0 => trimmed(format!("{value:.2}")),
        size if size < 100.0 => trimmed(format!("{value:.1}")),
        _ => grouped(value),
    }
}

/// A share from 0 to 1 as a percentage; all and nothing are said only when they are exact.
pub(crate) fn percent(share: f64) -> String {
    if share == 0.0 {
        return "0 %".into();
    }
    if share == 1.0 {
        return "100 %".into();
    }
    format!("{:.1} %", (share * 100.0).clamp(0.1, 99.9))
}

/// Seconds with their unit.
pub(crate) fn seconds(value: f64) -> String {
    format!("{} s", number(value))
}

/// A span with as many digits as say something.
pub(crate) fn span(span: Span) -> String {
    match span.as_secs_f64() {
        short if short < 1.0 => format!("{} ms", number(short * 1e3)),
        long => seconds(long),
    }
}

/// The distance of an instant from the origin, in seconds.
pub(crate) fn secs(at: Instant) -> f64 {
    (at - Instant::ORIGIN).as_secs_f64()
}

/// Without zeros that say nothing.
fn trimmed(text: String) -> String {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_parted() {
        let shown = [0.0, 999.4, 1000.0, 20_000.0, 1_234_567.0, -20_000.0].map(grouped);
        let want = ["0", "999", "1000", "20\u{202f}000", "1\u{202f}234\u{202f}567"];
        assert_eq!(shown[..5], want);
        assert_eq!(shown[5], "\u{2212}20\u{202f}000");
    }

    #[test]
    fn small_numbers_keep_digits_and_lose_zeros() {
        assert_eq!(
            [0.05, 0.35, 1.0, 12.94, 154.3].map(number),
            ["0.05", "0.35", "1", "12.9", "154"]
        );
    }

    #[test]
    fn nearly_all_is_not_shown_as_all() {
        let shown = [0.0, 0.0001, 0.5, 0.9999, 1.0].map(percent);
        assert_eq!(shown, ["0 %", "0.1 %", "50.0 %", "99.9 %", "100 %"]);
    }
}
