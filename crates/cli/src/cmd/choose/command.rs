//! The command: flags to answers, answers to a page.

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use stagger_core::Policy;
use stagger_explain::Choice;

use super::answers::{Said, said};
use super::{json, rust, terminal, toml, tree};
use crate::flags::{ChooseFlags, ChooseFormat};
use crate::refusal::Refusal;
use crate::{stderr, stdout};

/// Runs the command. Without a policy, for calls that should not be retried, it fails with the reason.
pub(crate) fn choose(flags: &ChooseFlags) -> ExitCode {
    if flags.explain_only {
        return stdout::write(&tree::page());
    }
    let mut said = match said(flags) {
        Ok(said) => said,
        Err(refusal) => return refusal.tell("choose"),
    };
    let terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
    if terminal
        && !flags.defaults
        && let Err(ended) = terminal::ask(&mut said)
    {
        return stderr::refuse(&ended);
    }
    match stagger_explain::choose(&said.answers) {
        Ok(choice) => print(flags, &said, &choice),
        Err(error) => Refusal::of_option(&error).tell("choose"),
    }
}

fn print(flags: &ChooseFlags, said: &Said, choice: &Choice) -> ExitCode {
    let terminal = io::stdout().is_terminal();
    let usual = if terminal { ChooseFormat::Both } else { ChooseFormat::Toml };
    let format = flags.format.unwrap_or(usual);
    let Some(policy) = &choice.policy else {
        if format == ChooseFormat::Json {
            stdout::write(&json::page(said, choice));
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
        ChooseFormat::Toml => toml::page(said, choice, policy),
        ChooseFormat::Rust => rust::page(said, choice, policy),
        ChooseFormat::Json => json::page(said, choice),
        ChooseFormat::Both => {
            format!("{}\n{}", toml::page(said, choice, policy), rust::page(said, choice, policy))
        }
    }
}
