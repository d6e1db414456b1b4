//! Policies to figures, figures to one page that opens anywhere, and an exit code.

use std::process::ExitCode;

use askama::Template;
use stagger_core::Span;
use stagger_explain::PlannedAttempt;
use stagger_text::percent;

use super::account::Account;
use super::words::{shown, words};
use super::{json, text};
use crate::command_error::{CommandError, check, put};
use crate::flags::{ExplainFlags, ExplainFormat};
use crate::streams;

/// Runs the command. Everything is read and checked before anything is written.
///
/// # Errors
/// A file that cannot be read, is wrong, or cannot be written.
pub(crate) fn explain(flags: &ExplainFlags) -> Result<ExitCode, CommandError> {
    let accounts = accounts(flags)?;
    let wrote = streams::write(&match flags.format {
        ExplainFormat::Table => text::text(&accounts),
        ExplainFormat::Json => json::json(&accounts),
    });
    Ok(if accounts.iter().any(Account::fails) { ExitCode::FAILURE } else { wrote })
}

fn accounts(flags: &ExplainFlags) -> Result<Vec<Account>, CommandError> {
    if let Some(path) = &flags.html {
        if path.as_os_str() == "-" {
            let why = "invalid value '-' for '--html': must be the name of a file";
            return Err(CommandError::bad_value(why));
        }
        check("--html", path)?;
    }
    let loaded = flags.source.load()?;
    let entries = loaded.iter().flat_map(|loaded| &loaded.policies);
    let accounts: Vec<Account> = entries.map(|entry| Account::of(entry, &flags.calls)).collect();
    if let Some(path) = &flags.html {
        put(path, page(&accounts).as_bytes())?;
    }
    Ok(accounts)
}

/// A page without a network, a script or a font of its own.
pub(super) fn page(accounts: &[Account]) -> String {
    let names: Vec<_> = accounts.iter().map(|account| account.name.as_str()).collect();
    let page = ExplainPage { names: names.join(", "), accounts };
    page.render().expect("writing into a string cannot fail") + "\n"
}

#[derive(Template)]
#[template(path = "explain.html")]
struct ExplainPage<'a> {
    names: String,
    accounts: &'a [Account],
}

/// One attempt of a time line.
struct TimelineRow {
    attempt: u32,
    /// The ceiling, the mean and two quantiles of its delay.
    delays: [String; 4],
    delay: Option<RangeBar>,
    /// The earliest, the mean and the latest start.
    starts: [String; 3],
    start: Option<RangeBar>,
    reached: String,
}

/// A range with its mean in percent of the longest, as a picture that needs no words: the figures stand beside it.
struct RangeBar {
    from: f64,
    mean: f64,
    width: f64,
}

fn rows(attempts: &[PlannedAttempt]) -> Vec<TimelineRow> {
    let most =
        |of: fn(&PlannedAttempt) -> Span| attempts.iter().map(of).max().unwrap_or(Span::ZERO);
    let (longest, latest) = (most(|it| it.longest), most(|it| it.cumulative_worst));
    let row = |it: &PlannedAttempt| {
        let first = it.attempt == 1;
        let delay = |span| if first { "–".to_owned() } else { shown(span) };
        let starts = [it.cumulative_best, it.cumulative_mean, it.cumulative_worst];
        TimelineRow {
            attempt: it.attempt,
            delays: [it.ceiling, it.mean, it.p50, it.p99].map(delay),
            delay: bar([it.shortest, it.mean, it.longest], longest).filter(|_| !first),
            starts: starts.map(shown),
            start: bar(starts, latest),
            reached: percent(it.reached),
        }
    };
    attempts.iter().map(row).collect()
}

fn bar(range: [Span; 3], full: Span) -> Option<RangeBar> {
    if full.is_zero() {
        return None;
    }
    let [from, mean, to] = range.map(|span| 100.0 * span.as_secs_f64() / full.as_secs_f64());
    Some(RangeBar { from, mean: mean.min(99.0), width: (to - from).max(1.0) })
}
