//! `stagger completions`: a script for a shell.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::flags::{CompletedShell, CompletionsFlags, Flags};
use crate::stdout;

/// Prints the script.
pub(crate) fn completions(flags: &CompletionsFlags) -> ExitCode {
    let shell = match flags.shell {
        CompletedShell::Bash => Shell::Bash,
        CompletedShell::Zsh => Shell::Zsh,
        CompletedShell::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    generate(shell, &mut Flags::command(), "stagger", &mut script);
    stdout::write(&String::from_utf8_lossy(&script))
}
