//! Numbers as people read them and as programs take them.

/// A whole number in groups of three: `20 000`.
pub(super) fn grouped(value: f64) -> String {
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
pub(super) fn percent(share: f64) -> String {
    match share {
        0.0 => "0 %".to_owned(),
        1.0 => "100 %".to_owned(),
        _ => format!("{:.1} %", (share * 100.0).clamp(0.1, 99.9)),
    }
}

/// The figure with six decimals, so that no digits are printed that mean nothing.
pub(super) fn rounded(value: f64) -> f64 {
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
    fn nearly_all_is_not_shown_as_all() {
        assert_eq!(
            [0.0, 0.0001, 0.5, 0.9999, 1.0].map(percent),
            ["0 %", "0.1 %", "50.0 %", "99.9 %", "100 %",]
        );
    }
}
