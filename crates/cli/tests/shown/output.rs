//! Shown output against printed output: equal but for times and figures of the machine.

/// The bars of a picture in one line.
const BARS: std::ops::RangeInclusive<char> = '▁'..='█';
/// A line that stands for lines left out.
const LEFT_OUT: &str = "...";

/// Compares lines shown with a text printed.
///
/// # Errors
/// The first line that is shown and not printed, or printed and not shown.
pub(crate) fn compare(
    shown: &[String],
    printed: &str,
    mask: fn(&str) -> String,
) -> Result<(), String> {
    let mut printed = printed.trim_end().lines();
    let mut may_skip = false;
    for line in shown {
        if line == LEFT_OUT {
            may_skip = true;
            continue;
        }
        let wanted = mask(line);
        let found = match may_skip {
            true => printed.find(|line| mask(line) == wanted),
            false => printed.next().filter(|line| mask(line) == wanted),
        };
        if found.is_none() {
            return Err(format!("shown and not printed there: {line}"));
        }
        may_skip = false;
    }
    match printed.next() {
        Some(line) if !may_skip => Err(format!("printed and not shown: {line}")),
        _ => Ok(()),
    }
}

/// A line with one sign for each time in it: `2.71s`, or the figure of a key that ends in `_ms`.
pub(crate) fn without_times(line: &str) -> String {
    without(line, |before, after| {
        let unit = after.split(|letter: char| !letter.is_alphabetic()).next().unwrap_or_default();
        matches!(unit, "ns" | "us" | "ms" | "s" | "min" | "h") || before.ends_with("_ms\":")
    })
}

/// A line with one sign for each figure in it, and without bars and the width of blanks.
pub(crate) fn without_figures(line: &str) -> String {
    let plain: String = without(line, |_, _| true).replace(|letter| BARS.contains(&letter), " ");
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn without(line: &str, is_masked: impl Fn(&str, &str) -> bool) -> String {
    let (mut masked, mut rest) = (String::new(), line);
    while let Some(at) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let (before, figure) = rest.split_at(at);
        let end = figure.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
        let (figure, after) = figure.split_at(end.unwrap_or(figure.len()));
        masked += before;
        masked += if is_masked(before, after) { "#" } else { figure };
        rest = after;
    }
    // The record of a budget is filled up with blanks.
    (masked + rest).trim_end().to_owned()
}

#[test]
fn times_are_excepted_and_nothing_else() {
    assert_eq!(without_times("503 in 2.71s, again"), "503 in #s, again");
    assert_eq!(without_times("{\"exit\":7,\"delay_ms\":83}"), "{\"exit\":7,\"delay_ms\":#}");
    assert_eq!(without_figures("none  ▅█▃  ▄▇   1000"), "none #");
    let shown = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let same = |lines: &str, printed| compare(&shown(lines), printed, without_times);
    assert_eq!(same("a 1s\nb", "a 2s\nb\n"), Ok(()));
    assert_eq!(same("a\n...\nd", "a\nb\nc\nd"), Ok(()));
    assert_eq!(same("a\n...", "a\nb\nc\nd"), Ok(()));
    assert!(same("a\n...\ne", "a\nb\nc\nd").is_err());
    assert!(same("a\nc", "a\nb\nc").is_err());
    assert!(same("a", "a\nb").is_err());
    assert!(same("a\nb", "a").is_err());
}
