//! The command: flags to answers, answers to a page.

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use stagger_core::Policy;
use stagger_explain::Choice;

use super::answers::{GivenAnswers, given_answers};
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
    let mut answers = given_answers(flags)?;
    let terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
    if terminal
        && !flags.defaults
        && let Err(ended) = terminal::ask(&mut answers)
    {
        return Ok(stderr::refuse(&ended));
    }
    let choice = stagger_explain::choose(&answers.answers);
    let choice = choice.map_err(|error| CommandError::of_option(&error))?;
    Ok(print(flags, &answers, &choice))
}

fn print(flags: &ChooseFlags, answers: &GivenAnswers, choice: &Choice) -> ExitCode {
    let terminal = io::stdout().is_terminal();
    let usual = if terminal { ChooseFormat::Both } else { ChooseFormat::Toml };
    let format = flags.format.unwrap_or(usual);
    let Some(policy) = &choice.policy else {
        if format == ChooseFormat::Json {
            stdout::write(&pages::json(answers, choice));
        }
        for note in &choice.notes {
            stderr::note(note);
        }
        return ExitCode::FAILURE;
    };
    stdout::write(&page(format, answers, choice, policy))
}

fn page(format: ChooseFormat, answers: &GivenAnswers, choice: &Choice, policy: &Policy) -> String {
    match format {
        ChooseFormat::Toml => pages::toml(answers, choice, policy),
        ChooseFormat::Rust => rust::page(answers, choice, policy),
        ChooseFormat::Json => pages::json(answers, choice),
        ChooseFormat::Both => {
            format!(
                "{}\n{}",
                pages::toml(answers, choice, policy),
                rust::page(answers, choice, policy)
            )
        }
    }
}
