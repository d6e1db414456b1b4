//! Figures for people: a table, pictures of characters, and sentences.

use comfy_table::Table;
use stagger_core::Span;
use stagger_explain::{Attempt, Explanation};

use super::account::{Account, code, severity};
use super::glued::BLANK;
use super::range::range;
use super::words::{shown, words};
use crate::render::{align, percent, plain, text as laid};

/// Columns that a sentence stays within.
const WIDTH: usize = 100;
/// Where sentences begin.
const INDENT: usize = 12;

/// One page, a part for each policy.
pub(super) fn text(accounts: &[Account]) -> String {
    accounts.iter().map(part).collect::<Vec<_>>().join("\n")
}

fn part(account: &Account) -> String {
    let figures = &account.figures;
    let mut page = format!("policy {}\n\n{}\n", account.name, timeline(&figures.attempts));
    if let Some(throttled) = &figures.throttled {
        page += &format!("\nafter throttled attempts\n\n{}\n", timeline(throttled));
    }
    page += &format!("\n{}\n\n", load(figures));
    for (heading, sentence) in words(account) {
        page += &paragraph(heading, &sentence);
    }
    page + &findings(account)
}

fn timeline(attempts: &[Attempt]) -> String {
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
    let mut table = plain(&header.map(str::to_owned));
    let full = attempts.iter().map(|attempt| attempt.longest).max().unwrap_or(Span::ZERO);
    for attempt in attempts {
        table.add_row(cells(attempt, full));
    }
    align(&mut table, 0..header.len() - 1);
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
fn paragraph(heading: &str, sentence: &str) -> String {
    let mut lines = vec![String::new()];
    for word in sentence.split(' ') {
        let line = lines.len() - 1;
        if lines[line].chars().count() + 1 + word.chars().count() > WIDTH - INDENT {
            lines.push(String::new());
        }
        let line = lines.len() - 1;
        if !lines[line].is_empty() {
            lines[line].push(' ');
        }
        lines[line] += word;
    }
    let beside = lines.join(&format!("\n{}", " ".repeat(INDENT)));
    format!("{heading:<INDENT$}{beside}\n").replace(BLANK, " ")
}

fn findings(account: &Account) -> String {
    let one = |finding| {
        let (severity, code) = (severity(finding), code(finding));
        format!("\n{severity}[{code}] {}\n  fix: {}\n", finding.message, finding.fix)
    };
    account.figures.findings.iter().map(one).collect()
}
