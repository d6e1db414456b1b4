//! Numbers as people read them: five digits and more stand in groups of three, four stand together.

/// The blank of a terminal's tables.
pub const SPACE: char = ' ';
/// The blank of sentences that are wrapped: no line break tears a figure apart.
pub const NO_BREAK: char = '\u{a0}';
/// The blank of pages: narrow, and no place to break a line.
pub const NARROW_NO_BREAK: char = '\u{202f}';

/// A whole number in groups of three with `blank` between them: `20 000`.
///
/// ```
/// use stagger_text::{SPACE, grouped};
/// assert_eq!([1550.4, 20_000.0].map(|value| grouped(value, SPACE)), ["1550", "20 000"]);
/// ```
#[must_use]
pub fn grouped(value: f64, blank: char) -> String {
    let digits = in_groups(&format!("{:.0}", value.abs()), blank);
    if value <= -0.5 { format!("\u{2212}{digits}") } else { digits }
}

/// [`grouped`] for a count, exact however large it is.
#[must_use]
pub fn whole(count: u64, blank: char) -> String {
    in_groups(&count.to_string(), blank)
}

fn in_groups(digits: &str, blank: char) -> String {
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 * blank.len_utf8());
    for (index, digit) in digits.chars().enumerate() {
        // Four digits are read at a glance.
        if index > 0 && digits.len() > 4 && (digits.len() - index).is_multiple_of(3) {
            text.push(blank);
        }
        text.push(digit);
    }
    text
}

/// A number with as many digits as say something: `0.35`, `12.9`, `15 500`.
#[must_use]
pub fn number(value: f64, blank: char) -> String {
    match value.abs() {
        0.0 => "0".into(),
        size if size < 0.1 => trimmed(&format!("{value:.4}")),
        size if size < 10.0 => trimmed(&format!("{value:.2}")),
        size if size < 100.0 => trimmed(&format!("{value:.1}")),
        _ => grouped(value, blank),
    }
}

/// A share as a percentage with one decimal, or none where it is zero. All, nothing and nearly nothing are
/// said only of what is that.
///
/// ```
/// use stagger_text::percent;
/// assert_eq!([0.25, 0.998_7, 0.999_9].map(percent), ["25 %", "99.9 %", "99.9 %"]);
/// ```
#[must_use]
pub fn percent(share: f64) -> String {
    match share {
        0.0 => "0 %".to_owned(),
        _ if share < 0.001 => "less than 0.1 %".to_owned(),
        _ if share < 1.0 => trimmed(&format!("{:.1}", (share * 100.0).min(99.9))) + " %",
        _ => trimmed(&format!("{:.1}", share * 100.0)) + " %",
    }
}

/// A rate or a count in a sentence: whole from 10 on, with a decimal below unless it is whole.
#[must_use]
pub fn rough_count(number: f64) -> String {
    if number >= 10.0 || number == number.trunc() {
        format!("{number:.0}")
    } else {
        format!("{number:.1}")
    }
}

/// A figure for programs: six decimals, so that no digits are printed that mean nothing.
///
/// ```
/// use stagger_text::rounded;
/// assert_eq!(rounded(2.0 / 3.0), 0.666_667);
/// ```
#[must_use]
pub fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// Without zeros that say nothing.
fn trimmed(text: &str) -> String {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_parted_from_five_digits_on() {
        let shown = [0.0, 999.4, 1000.0, 20_000.0, 1_234_567.0, -200.0, -20_000.0, -0.4]
            .map(|value| grouped(value, SPACE));
        let want =
            ["0", "999", "1000", "20 000", "1 234 567", "\u{2212}200", "\u{2212}20 000", "0"];
        assert_eq!(shown, want);
        assert_eq!(whole(u64::MAX, '.'), "18.446.744.073.709.551.615");
        assert_eq!(grouped(12_345.0, NARROW_NO_BREAK), "12\u{202f}345");
    }

    #[test]
    fn small_numbers_keep_digits_and_lose_zeros() {
        assert_eq!(
            [0.0, 0.05, 0.35, 1.0, 12.94, 154.3].map(|value| number(value, SPACE)),
            ["0", "0.05", "0.35", "1", "12.9", "154"]
        );
    }

    #[test]
    fn nearly_all_is_not_shown_as_all_and_little_not_as_nothing() {
        let shown = [0.0, 0.0001, 0.004, 0.5, 0.9999, 1.0, 1.25].map(percent);
        let want = ["0 %", "less than 0.1 %", "0.4 %", "50 %", "99.9 %", "100 %", "125 %"];
        assert_eq!(shown, want);
    }

    #[test]
    fn small_counts_keep_a_decimal() {
        assert_eq!([0.5, 3.0, 12.6].map(rough_count), ["0.5", "3", "13"]);
    }
}
