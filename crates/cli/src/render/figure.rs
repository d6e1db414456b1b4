//! Numbers as people read them and as programs take them.

use stagger_core::Span;

/// A whole number in groups of three: `20 000`.
pub(crate) fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// A share from 0 to 1 as a percentage; all and nothing are said only when they are exact.
pub(crate) fn percent(share: f64) -> String {
    match share {
        0.0 => "0 %".to_owned(),
        1.0 => "100 %".to_owned(),
        _ => format!("{:.1} %", (share * 100.0).clamp(0.1, 99.9)),
    }
}

/// A span with three digits and one unit: `1.23 s`.
pub(crate) fn brief(span: Span) -> String {
    let nanos = span.as_nanos();
    let units: [(u64, &str); 6] = [
        (86_400_000_000_000, "d"),
        (3_600_000_000_000, "h"),
        (1_000_000_000, "s"),
        (1_000_000, "ms"),
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

/// The figure with six decimals, so that no digits are printed that mean nothing.
pub(crate) fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_parted() {
        let shown = [0.0, 999.4, 1000.0, 20_000.0, 1_234_567.0].map(grouped);
        assert_eq!(shown, ["0", "999", "1 000", "20 000", "1 234 567"]);
    }

    #[test]
    fn spans_have_three_digits_and_no_zeros_behind() {
        let spans = ["0", "1ns", "999us", "1.2345s", "12.35s", "100ms", "3599s", "90m", "213503d"];
        let shown = spans.map(|span| brief(span.parse().unwrap()));
        let expected =
            ["0 s", "1 ns", "999 us", "1.23 s", "12.3 s", "100 ms", "3599 s", "1.5 h", "213503 d"];
        assert_eq!(shown, expected);
    }

    #[test]
    fn nearly_all_is_not_shown_as_all() {
        assert_eq!(
            [0.0, 0.0001, 0.5, 0.9999, 1.0].map(percent),
            ["0 %", "0.1 %", "50.0 %", "99.9 %", "100 %",]
        );
    }
}
