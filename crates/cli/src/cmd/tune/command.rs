//! The command: flags to worlds and an objective, the report to a page in the form that is asked for.

use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use stagger_core::{Ratio, Span};
use stagger_report::{TunePageOptions, tune_page};
use stagger_sim::ThreadPool;
use stagger_tune::{CallObjective, TuneOptions, TuneReport, WorldSource};

use super::worlds::{DescribedWorlds, described, refused, span};
use super::{json, page};
use crate::command_error::{CommandError, check, put};
use crate::flags::{TuneFlags, TuneFormat};
use crate::policy_file::Loaded;
use crate::streams;

/// The objective of calls that no flag describes.
const SUCCESS: Ratio = Ratio::from_ppm(999_000);
const DEADLINE: Span = Span::from_secs(2);
/// The time between two moves of the clock on the progress line.
const TICK: Duration = Duration::from_millis(200);

/// Runs the command. Files that cannot be written are found before anything is played.
///
/// # Errors
/// A flag or a file that is wrong.
pub(crate) fn tune(flags: &TuneFlags) -> Result<ExitCode, CommandError> {
    for (flag, path) in [("--out", &flags.out), ("--html", &flags.html)] {
        if let Some(path) = path {
            check(flag, path)?;
        }
    }
    let options = options(flags)?;
    let worlds = described(flags)?;
    let report = played(flags, &worlds.source, &options)?;
    write(flags, &worlds, &report)
}

/// Writes the files, then standard output.
fn write(
    flags: &TuneFlags,
    worlds: &DescribedWorlds,
    report: &TuneReport,
) -> Result<ExitCode, CommandError> {
    let file = page::policy_file(report, worlds);
    if let Some(path) = &flags.out {
        put(path, file.as_bytes())?;
    }
    if let Some(path) = &flags.html {
        let options = TunePageOptions {
            command: crate::cmd::command_line(),
            worlds: worlds.parameters.clone(),
            policy_file: file.clone(),
        };
        put(path, tune_page(report, &options).as_bytes())?;
    }
    Ok(streams::write(&match flags.format {
        TuneFormat::Table => page::table(report, worlds, streams::page_width()),
        TuneFormat::Json => json::json(report, worlds),
        TuneFormat::Toml => file,
    }))
}

/// Plays the search, with a line of progress where standard error is a terminal.
fn played(
    flags: &TuneFlags,
    source: &WorldSource,
    options: &TuneOptions,
) -> Result<TuneReport, CommandError> {
    let cores = || thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let bar = progress(flags.quiet);
    let tell = || bar.inc(1);
    let pool = ThreadPool::new(flags.threads.unwrap_or_else(cores)).telling(&tell);
    let report = stagger_tune::tune(source, options, &pool);
    bar.finish_and_clear();
    report.map_err(|error| refused(&error))
}

fn progress(quiet: bool) -> ProgressBar {
    if quiet {
        return ProgressBar::hidden();
    }
    // indicatif draws nothing when standard error is not a terminal.
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{elapsed} {spinner} {pos} worlds played") {
        bar.set_style(style);
    }
    if !bar.is_hidden() {
        bar.enable_steady_tick(TICK);
    }
    bar
}

/// The objective, the seed, the events, and the user's own policies.
fn options(flags: &TuneFlags) -> Result<TuneOptions, CommandError> {
    let success = flags.success.as_deref().map_or(Ok(SUCCESS), share)?;
    let deadline =
        flags.deadline.as_deref().map_or(Ok(DEADLINE), |text| span("--deadline", text))?;
    let mut objective = CallObjective::new(success, deadline).map_err(|error| refused(&error))?;
    if let Some(text) = &flags.p99 {
        objective = objective.with_p99(span("--p99", text)?).map_err(|error| refused(&error))?;
    }
    let mut own = Vec::new();
    for argument in &flags.policy {
        let loaded = Loaded::open(argument)?;
        let named = loaded.policies.into_iter();
        own.extend(named.map(|entry| (format!("own:{}", entry.name), entry.policy)));
    }
    let usual = TuneOptions::new(objective);
    Ok(TuneOptions {
        seed: flags.seed.unwrap_or(usual.seed),
        events: flags.events.unwrap_or(usual.events),
        own,
        ..usual
    })
}

/// A share as a number from 0 to 1, or in per cent.
fn share(text: &str) -> Result<Ratio, CommandError> {
    let wrong = || CommandError::invalid("--success", text, "a share such as 99.9% or 0.999");
    let value: f64 = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
        None => text.parse(),
    }
    .map_err(|_| wrong())?;
    Ratio::try_from(value).map_err(|_| wrong())
}
