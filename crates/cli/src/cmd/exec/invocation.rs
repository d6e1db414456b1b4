//! Everything that is settled before the first attempt.

use std::fs::OpenOptions;
use std::path::Path;

use clap::error::ErrorKind;
use stagger_core::{Policy, Span};

use super::budget_file::BudgetFile;
use super::input::Input;
use super::notes::{Log, Notes, Volume};
use super::order::Order;
use super::rules::Rules;
use super::{nested, policy};
use crate::flags::ExecFlags;
use crate::refusal::Refusal;

/// A call: its command, its policy and its rules.
#[derive(Debug)]
pub(super) struct Plan {
    /// The engine's part of the policy.
    pub(super) policy: Policy,
    /// The time limit of one attempt.
    pub(super) attempt_timeout: Option<Span>,
    pub(super) grace: Span,
    pub(super) rules: Rules,
    pub(super) budget: Option<BudgetFile>,
    pub(super) order: Order,
    pub(super) notes: Notes,
}

impl Plan {
    /// The plan that the flags make; all files are opened, and with `--stdin buffer` all is read.
    ///
    /// # Errors
    /// Flags or files that are wrong.
    pub(super) fn of(flags: &ExecFlags) -> Result<Self, Refusal> {
        let whole = policy::policy(&flags.policy, flags.budget_file.is_some())?;
        let single = nested::is_inside() && !flags.nested;
        let policy = policy::for_engine(&whole, single);
        let argv = argv(flags)?;
        let budget = flags.budget_file.as_deref().map(|file| {
            BudgetFile::open(file, *policy.budget())
                .map_err(|why| wrong("--budget-file", file, &why))
        });
        let (budget, log) = (budget.transpose()?, log(flags)?);
        let output = flags.output;
        let input = Input::of(flags.stdin)
            .map_err(|why| Refusal::File(format!("error: --stdin buffer: {why}")))?;
        let most = policy.limits().max_attempts();
        let volume = Volume::of(flags.quiet, flags.verbose);
        Ok(Self {
            policy,
            attempt_timeout: whole.limits().attempt_timeout(),
            grace: flags.grace,
            rules: Rules::of(flags),
            budget,
            order: Order { argv, input, output, most },
            notes: Notes::new(volume, log, most, single),
        })
    }
}

/// The program and its arguments.
fn argv(flags: &ExecFlags) -> Result<Vec<std::ffi::OsString>, Refusal> {
    if !flags.shell {
        return Ok(flags.command.clone());
    }
    match &flags.command[..] {
        [script] => Ok(vec!["sh".into(), "-c".into(), script.clone()]),
        more => Err(Refusal::flag(
            ErrorKind::WrongNumberOfValues,
            &format!(
                "--shell takes one string, as in --shell -- 'a | b'; there are {}",
                more.len()
            ),
        )),
    }
}

/// Opened for appending: what is in it stays, and nothing is truncated.
fn log(flags: &ExecFlags) -> Result<Option<Log>, Refusal> {
    match flags.log.as_deref() {
        None => Ok(None),
        Some(file) if file == Path::new("-") => Ok(Some(Log::StandardError)),
        Some(file) => {
            let opened = OpenOptions::new().append(true).create(true).open(file);
            let log = opened.map_err(|why| wrong("--log", file, &why.to_string()))?;
            Ok(Some(Log::File(log)))
        }
    }
}

fn wrong(flag: &str, file: &Path, why: &str) -> Refusal {
    Refusal::File(format!("error: {flag}: {}: {why}", file.display()))
}
