//! The invocation: everything that is settled before the first attempt.

use std::fs::OpenOptions;
use std::path::Path;

use clap::error::ErrorKind;
use stagger_core::{Policy, Span};

use super::attempt_command::{AttemptCommand, is_inside};
use super::budget_file::BudgetFile;
use super::input::Input;
use super::policy;
use super::reporter::{AttemptLog, Reporter, Verbosity};
use super::retry_rules::RetryRules;
use crate::command_error::CommandError;
use crate::flags::ExecFlags;

/// A call: its command, its policy and its rules.
#[derive(Debug)]
pub(super) struct Invocation {
    /// The engine's part of the policy.
    pub(super) policy: Policy,
    /// The time limit of one attempt.
    pub(super) attempt_timeout: Option<Span>,
    pub(super) grace: Span,
    pub(super) rules: RetryRules,
    pub(super) budget: Option<BudgetFile>,
    pub(super) command: AttemptCommand,
    pub(super) reporter: Reporter,
}

impl Invocation {
    /// The plan that the flags make; all files are opened, and with `--stdin buffer` all is read.
    ///
    /// # Errors
    /// Flags or files that are wrong.
    pub(super) fn of(flags: &ExecFlags) -> Result<Self, CommandError> {
        let whole = policy::policy(&flags.policy, flags.budget_file.is_some())?;
        let single = is_inside() && !flags.nested;
        let policy = policy::for_engine(&whole, single);
        let argv = argv(flags)?;
        let budget = flags.budget_file.as_deref().map(|file| {
            BudgetFile::open(file, *policy.budget())
                .map_err(|why| wrong("--budget-file", file, &why))
        });
        let (budget, log) = (budget.transpose()?, log(flags)?);
        let output = flags.output;
        let input = Input::of(flags.stdin)
            .map_err(|why| CommandError::File(format!("error: --stdin buffer: {why}")))?;
        let most = policy.limits().max_attempts();
        let verbosity = Verbosity::of(flags.quiet, flags.verbose);
        Ok(Self {
            policy,
            attempt_timeout: whole.limits().attempt_timeout(),
            grace: flags.grace,
            rules: RetryRules::of(flags),
            budget,
            command: AttemptCommand { argv, input, output, most },
            reporter: Reporter::new(verbosity, log, most, single),
        })
    }
}

/// The program and its arguments.
fn argv(flags: &ExecFlags) -> Result<Vec<std::ffi::OsString>, CommandError> {
    if !flags.shell {
        return Ok(flags.command.clone());
    }
    match &flags.command[..] {
        [script] => Ok(vec!["sh".into(), "-c".into(), script.clone()]),
        more => Err(CommandError::flag(
            ErrorKind::WrongNumberOfValues,
            &format!(
                "--shell takes one string, as in --shell -- 'a | b'; there are {}",
                more.len()
            ),
        )),
    }
}

/// Opened for appending: what is in it stays, and nothing is truncated.
fn log(flags: &ExecFlags) -> Result<Option<AttemptLog>, CommandError> {
    match flags.log.as_deref() {
        None => Ok(None),
        Some(file) if file == Path::new("-") => Ok(Some(AttemptLog::StandardError)),
        Some(file) => {
            let opened = OpenOptions::new().append(true).create(true).open(file);
            let log = opened.map_err(|why| wrong("--log", file, &why.to_string()))?;
            Ok(Some(AttemptLog::File(log)))
        }
    }
}

fn wrong(flag: &str, file: &Path, why: &str) -> CommandError {
    CommandError::File(format!("error: {flag}: {}: {why}", file.display()))
}
