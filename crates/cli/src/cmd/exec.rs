//! `stagger exec`: flags to a call of a command, of which everything that can be wrong is found first.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::path::Path;
use std::process::ExitCode;

use clap::error::ErrorKind;
use stagger_core::{Policy, Span};
use stagger_exec::{
    AttemptLog, BudgetFile, CoolOffFile, Hooks, Input, Invocation, OutputMode, OutputRules,
    RetriedExits, RetryRules, Verbosity,
};

use super::call_policy::call_policy;
use crate::command_error::CommandError;
use crate::flags::{ExecFlags, StdinMode};
use crate::policy_file::PolicyArgument;

/// Runs the command.
///
/// # Errors
/// Flags or files that are wrong.
pub(crate) fn exec(flags: &ExecFlags) -> Result<ExitCode, CommandError> {
    invocation(flags).map(Invocation::run)
}

/// The call that the flags ask for; all files are opened, and with `--stdin buffer` all is read.
fn invocation(flags: &ExecFlags) -> Result<Invocation, CommandError> {
    let policy = policy(flags)?;
    let argv = argv(flags)?;
    let deadline = policy.limits().deadline();
    let budget = flags.budget_file.as_deref().map(|file| {
        let opened = BudgetFile::open(file, *policy.budget(), deadline);
        opened.map_err(|why| wrong("--budget-file", file, &why))
    });
    let cool_off = flags.cool_off_file.as_deref().map(|file| {
        CoolOffFile::open(file, deadline).map_err(|why| wrong("--cool-off-file", file, &why))
    });
    Ok(Invocation {
        argv,
        policy,
        nested: flags.nested,
        grace: flags.grace,
        rules: rules(flags),
        budget: budget.transpose()?,
        cool_off: cool_off.transpose()?,
        output_rules: output_rules(flags)?,
        checks: flags.until.clone(),
        hooks: hooks(flags)?,
        log: log(flags)?,
        input: input(flags.stdin)?,
        output: flags.output,
        verbosity: match (flags.quiet, flags.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        },
    })
}

fn rules(flags: &ExecFlags) -> RetryRules {
    let exits = match &flags.retry_on_exit {
        Some(codes) => RetriedExits::These(codes.clone()),
        None if flags.no_retry_on_exit => RetriedExits::None,
        None => RetriedExits::Failures,
    };
    let signals = flags.retry_on_signal.clone();
    let exit_hints = flags.hint_on_exit.clone();
    RetryRules { exits, signals, timeouts: flags.retry_on_timeout, exit_hints }
}

/// The patterns for the output, which stagger sees only when it keeps it back.
fn output_rules(flags: &ExecFlags) -> Result<OutputRules, CommandError> {
    let (retry, hint) = (flags.retry_on_output.clone(), flags.hint_on_output.clone());
    let needs = match (&retry, &hint) {
        (Some(_), _) => "--retry-on-output",
        (_, Some(_)) => "--hint-on-output",
        _ => return Ok(OutputRules::default()),
    };
    if flags.output == OutputMode::Stream {
        return Err(CommandError::flag(
            ErrorKind::ArgumentConflict,
            &format!(
                "{needs} needs --output buffer or --output last: with --output stream the command writes past stagger"
            ),
        ));
    }
    Ok(OutputRules { retry, hint })
}

fn hooks(flags: &ExecFlags) -> Result<Hooks, CommandError> {
    if flags.hook_timeout == Span::ZERO {
        return Err(CommandError::invalid("--hook-timeout", "0s", "above zero"));
    }
    let (before_retry, on_failure) = (flags.before_retry.clone(), flags.on_failure.clone());
    Ok(Hooks { before_retry, on_failure, time: flags.hook_timeout })
}

fn input(mode: StdinMode) -> Result<Input, CommandError> {
    match mode {
        StdinMode::Inherit => Ok(Input::Inherit),
        StdinMode::Null => Ok(Input::Null),
        StdinMode::Buffer(limit) => Input::buffered(limit)
            .map_err(|why| CommandError::File(format!("error: --stdin buffer: {why}"))),
    }
}

/// The program and its arguments.
fn argv(flags: &ExecFlags) -> Result<Vec<OsString>, CommandError> {
    if !flags.shell {
        return Ok(flags.command.clone());
    }
    match &flags.command[..] {
        [] => Ok(Vec::new()),
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

fn policy(flags: &ExecFlags) -> Result<Policy, CommandError> {
    // Standard input is the command's.
    if flags.policy.policy.as_ref().is_some_and(PolicyArgument::is_stdin) {
        return Err(CommandError::bad_value("invalid value '-' for '--policy': must be a file"));
    }
    call_policy(&flags.policy, flags.budget_file.is_some(), |mut limits| {
        if let Some(limit) = flags.attempt_timeout {
            limits = limits.attempt_timeout(limit);
        }
        if let Some(limit) = flags.deadline {
            limits = limits.deadline(limit);
        }
        match flags.min_attempt_time {
            Some(least) => limits.min_attempt_time(least),
            None => limits,
        }
    })
}
