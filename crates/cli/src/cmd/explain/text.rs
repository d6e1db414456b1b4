//! Figures for people: a table, pictures of characters, and sentences.

use std::io;

use comfy_table::Table;
use stagger_core::Span;
use stagger_explain::{Attempt, Explanation};

use super::account::{Account, code, severity};
use super::glued::BLANK;
use super::range::range;
use super::words::{shown, words};
use crate::render::{align, percent, plain, text as laid, wrapped};
use crate::width;

/// Columns of the time line that a narrow terminal does without, in this order: the picture, the
/// median, the earliest start, the ceiling.
const SPARE: [usize; 4] = [9, 3, 5, 1];
/// Where sentences begin.
const INDENT: usize = 12;

/// One page, a part for each policy.
pub(super) fn text(accounts: &[Account]) -> String {
    let width = width::of(&io::stdout());
    accounts.iter().map(|account| part(account, width)).collect::<Vec<_>>().join("\n")
}

fn part(account: &Account, terminal: Option<usize>) -> String {
    let figures = &account.figures;
    let width = terminal.unwrap_or(width::MOST);
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

/// The time line in as many columns as fit.
fn timeline(attempts: &[Attempt], width: usize) -> String {
    let mut left_out = Vec::new();
    loop {
        let page = with_columns(attempts, |column| !left_out.contains(&column));
        let fits = page.lines().all(|line| line.chars().count() <= width);
        match SPARE.get(left_out.len()) {
            Some(spare) if !fits => left_out.push(*spare),
            _ => return page,
        }
    }
}

fn with_columns(attempts: &[Attempt], shown: impl Fn(usize) -> bool) -> String {
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
        let cells = cells.into_iter().enumerate();
        cells.filter(|(column, _)| shown(*column)).map(|(_, cell)| cell).collect()
    };
    let numbers = (0..header.len() - 1).filter(|column| shown(*column)).count();
    let mut table = plain(&kept(header.map(str::to_owned)));
    let full = attempts.iter().map(|attempt| attempt.longest).max().unwrap_or(Span::ZERO);
    for attempt in attempts {
        table.add_row(kept(cells(attempt, full)));
    }
    align(&mut table, 0..numbers);
    laid(&table)
}

fn cells(attempt: &Attempt, full: Span) -> [String; 10] {
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
    let beside = wrapped(sentence, width - INDENT).join(&format!("\n{}", " ".repeat(INDENT)));
    format!("{heading:<INDENT$}{beside}\n").replace(BLANK, " ")
}

/// Findings in whole lines, as a log wants them, or in those of a terminal.
fn findings(account: &Account, terminal: Option<usize>) -> String {
    let lines = |text: &str, indent: &str| {
        let width = terminal.map_or(usize::MAX, |width| width - indent.len());
        wrapped(text, width).join(&format!("\n{indent}"))
    };
    let one = |finding| {
        let head = format!("{}[{}] {}", severity(finding), code(finding), finding.message);
        let fix = format!("fix: {}", finding.fix);
        format!("\n{}\n  {}\n", lines(&head, "  "), lines(&fix, "       "))
    };
    account.figures.findings.iter().map(one).collect()
}
