//! Figures for people: a table, pictures of characters, and sentences.

use std::io;

use comfy_table::Table;
use stagger_core::Span;
use stagger_explain::{Explanation, PlannedAttempt, PolicyFinding};
use stagger_text::percent;

use super::account::{Account, BLANK};
use super::words::{shown, words};
use crate::render::{align, hanging, plain, text as laid};
use crate::streams;

/// The columns of the time line, where one table has room for all.
const WHOLE: &[usize] = &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
/// Those of its delays, where it has not; narrow terminals do without the picture and the median.
const DELAYS: [&[usize]; 3] = [&[0, 1, 2, 3, 4, 9], &[0, 1, 2, 3, 4], &[0, 1, 2, 4]];
/// Those of its starts; narrow terminals do without the earliest.
const STARTS: [&[usize]; 2] = [&[0, 5, 6, 7, 8], &[0, 6, 7, 8]];
/// The column with the picture; all others have figures.
const PICTURE: usize = 9;
/// Columns of a range as a bar.
const WIDTH: u64 = 18;
/// The column of the sentences.
const INDENT: usize = 12;

/// One page, a part for each policy.
pub(super) fn text(accounts: &[Account]) -> String {
    let width = streams::width(&io::stdout());
    accounts.iter().map(|account| part(account, width)).collect::<Vec<_>>().join("\n")
}

fn part(account: &Account, terminal: Option<usize>) -> String {
    let figures = &account.figures;
    let width = terminal.unwrap_or(streams::USUAL_WIDTH);
    let mut page =
        format!("policy {}\n\n{}\n", printable(&account.name), timeline(&figures.attempts, width));
    if let Some(throttled) = &figures.throttled {
        page += &format!("\nafter throttled attempts\n\n{}\n", timeline(throttled, width));
    }
    page += &format!("\n{}\n\n", load(figures));
    for (heading, sentence) in words(account) {
        page += &paragraph(heading, &sentence, width);
    }
    page + &findings(account, terminal)
}

/// A name as a terminal may show it: what would steer it is written out.
fn printable(name: &str) -> String {
    let shown = |letter: char| match letter.is_control() {
        true => letter.escape_default().to_string(),
        false => letter.to_string(),
    };
    name.chars().map(shown).collect()
}

/// The time line in one table, or in two where it is too wide for one.
fn timeline(attempts: &[PlannedAttempt], width: usize) -> String {
    let fits = |page: &String| page.lines().all(|line| line.chars().count() <= width);
    let whole = Some(with_columns(attempts, WHOLE)).filter(fits);
    let part = |forms: &[&[usize]]| {
        let mut pages = forms.iter().map(|columns| with_columns(attempts, columns));
        let last = forms.last().map_or_else(String::new, |columns| with_columns(attempts, columns));
        pages.find(fits).unwrap_or(last)
    };
    whole.unwrap_or_else(|| format!("{}\n\n{}", part(&DELAYS), part(&STARTS)))
}

fn with_columns(attempts: &[PlannedAttempt], columns: &[usize]) -> String {
    let header = [
        "attempt",
        "ceiling",
        "mean",
        "p50",
        "p99",
        "earliest",
        "mean start",
        "latest",
        "reached",
        "delay, mean at ╋",
    ];
    let kept = |cells: [String; 10]| -> Vec<String> {
        cells
            .into_iter()
            .enumerate()
            .filter(|(at, _)| columns.contains(at))
            .map(|it| it.1)
            .collect()
    };
    let numbers = columns.iter().filter(|column| **column != PICTURE).count();
    let mut table = plain(&kept(header.map(str::to_owned)));
    let full = attempts.iter().map(|attempt| attempt.longest).max().unwrap_or(Span::ZERO);
    for attempt in attempts {
        table.add_row(kept(cells(attempt, full)));
    }
    align(&mut table, 0..numbers);
    laid(&table)
}

fn cells(attempt: &PlannedAttempt, full: Span) -> [String; 10] {
    let delay = |span| if attempt.attempt == 1 { "-".to_owned() } else { shown(span) };
    let bar = match attempt.attempt {
        1 => String::new(),
        _ => range(attempt.shortest, attempt.mean, attempt.longest, full),
    };
    [
        attempt.attempt.to_string(),
        delay(attempt.ceiling),
        delay(attempt.mean),
        delay(attempt.p50),
        delay(attempt.p99),
        shown(attempt.cumulative_best),
        shown(attempt.cumulative_mean),
        shown(attempt.cumulative_worst),
        percent(attempt.reached),
        bar,
    ]
}

fn load(figures: &Explanation) -> String {
    let header = ["failing", "attempts a call", "with budget"].map(str::to_owned);
    let mut table: Table = plain(&header);
    for factor in &figures.load {
        table.add_row([
            format!("{} %", factor.failing_percent),
            format!("{:.2}", factor.without_budget),
            format!("{:.2}", factor.with_budget),
        ]);
    }
    align(&mut table, 0..header.len());
    laid(&table)
}

/// A heading in the margin, and the sentence in lines beside it.
fn paragraph(heading: &str, sentence: &str, width: usize) -> String {
    format!("{heading:<INDENT$}{}\n", hanging(sentence, width, INDENT)).replace(BLANK, " ")
}

/// Findings in whole lines, as a log wants them, or in those of a terminal.
fn findings(account: &Account, terminal: Option<usize>) -> String {
    let lines = |text: &str, indent| hanging(text, terminal.unwrap_or(usize::MAX), indent);
    let one = |finding: &PolicyFinding| {
        let head = format!("{}[{}] {}", finding.severity, finding.code, finding.message);
        let fix = format!("fix: {}", finding.fix);
        format!("\n{}\n  {}\n", lines(&head, 2), lines(&fix, 7))
    };
    account.figures.findings.iter().map(one).collect()
}

/// The bar from `from` to `to` with its mean marked, on a line that ends at `full`.
fn range(from: Span, mean: Span, to: Span, full: Span) -> String {
    if full.is_zero() {
        return String::new();
    }
    let at = |span: Span| {
        let column =
            u128::from(span.as_nanos()) * u128::from(WIDTH - 1) / u128::from(full.as_nanos());
        u64::try_from(column).unwrap_or(WIDTH).min(WIDTH - 1)
    };
    let (from, mean, to) = (at(from), at(mean), at(to));
    let place = |column| match column {
        column if column == mean => '╋',
        column if (from..=to).contains(&column) => '━',
        _ => ' ',
    };
    (0..WIDTH).map(place).collect::<String>().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_begins_and_ends_where_its_range_does() {
        let ms = Span::from_millis;
        assert_eq!(range(ms(0), ms(0), ms(0), ms(0)), "");
        assert_eq!(range(ms(0), ms(85), ms(170), ms(170)), "━━━━━━━━╋━━━━━━━━━");
        assert_eq!(range(ms(50), ms(100), ms(150), ms(170)), "     ━━━━━╋━━━━━");
        assert_eq!(range(Span::MAX, Span::MAX, Span::MAX, Span::MAX).trim(), "╋");
    }
}
