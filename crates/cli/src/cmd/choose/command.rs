//! The command: flags to answers, answers to a page.

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use stagger_core::Policy;
use stagger_explain::Choice;

use super::answers::{Said, said};
use super::{pages, rust, terminal};
use crate::command_error::CommandError;
use crate::flags::{ChooseFlags, ChooseFormat};
use crate::{stderr, stdout};

/// Runs the command. Without a policy, for calls that should not be retried, it fails with the reason.
///
/// # Errors
/// A flag that is no answer, or answers that do not go together.
pub(crate) fn choose(flags: &ChooseFlags) -> Result<ExitCode, CommandError> {
    if flags.explain_only {
        return Ok(stdout::write(&pages::tree()));
    }
    let mut said = said(flags)?;
    let terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
    if terminal
        && !flags.defaults
        && let Err(ended) = terminal::ask(&mut said)
    {
        return Ok(stderr::refuse(&ended));
    }
    let choice = stagger_explain::choose(&said.answers);
    let choice = choice.map_err(|error| CommandError::of_option(&error))?;
    Ok(print(flags, &said, &choice))
}

fn print(flags: &ChooseFlags, said: &Said, choice: &Choice) -> ExitCode {
    let terminal = io::stdout().is_terminal();
    let usual = if terminal { ChooseFormat::Both } else { ChooseFormat::Toml };
    let format = flags.format.unwrap_or(usual);
    let Some(policy) = &choice.policy else {
        if format == ChooseFormat::Json {
            stdout::write(&pages::json(said, choice));
        }
        for note in &choice.notes {
            stderr::note(note);
        }
        return ExitCode::FAILURE;
    };
    stdout::write(&page(format, said, choice, policy))
}

fn page(format: ChooseFormat, said: &Said, choice: &Choice, policy: &Policy) -> String {
    match format {
        ChooseFormat::Toml => pages::toml(said, choice, policy),
        ChooseFormat::Rust => rust::page(said, choice, policy),
        ChooseFormat::Json => pages::json(said, choice),
        ChooseFormat::Both => {
            format!("{}\n{}", pages::toml(said, choice, policy), rust::page(said, choice, policy))
        }
    }
}
