//! The stagger binary: stress-test a retry policy before it ships, and deliver webhooks under it.
#![forbid(unsafe_code)]

mod cmd;
mod colour;
mod flags;
mod interrupt;
mod memory;
mod output_file;
mod policy_file;
mod progress;
mod refusal;
mod render;
mod scenario_file;
mod stderr;
mod stdout;
mod toml_file;
mod width;

use std::env;
use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use flags::{Command, Flags};

fn main() -> ExitCode {
    let flags = match Flags::try_parse() {
        Ok(flags) => flags,
        Err(shown) => return told(&not_text(shown)),
    };
    match flags.command {
        Command::Storm(flags) => match cmd::storm(&flags) {
            Ok(page) => stdout::write(&page),
            Err(refusal) => refusal.tell("storm"),
        },
        Command::Demo(flags) => cmd::demo(&flags),
        Command::Serve(flags) => cmd::serve(&flags),
        Command::Store(flags) => cmd::store(&flags),
        Command::Explain(flags) => cmd::explain(&flags),
        Command::Lint(flags) => cmd::lint(&flags),
        Command::Choose(flags) => cmd::choose(&flags),
        Command::Import(flags) => cmd::import(&flags),
        Command::Exec(flags) => cmd::exec(&flags),
        Command::Http(flags) => cmd::http(&flags),
        Command::Completions(flags) => cmd::completions(&flags),
        Command::Man(flags) => cmd::man(&flags),
    }
}

/// Names the arguments that are not text where text is needed; clap does not say which.
fn not_text(shown: clap::Error) -> clap::Error {
    if shown.kind() != ErrorKind::InvalidUtf8 {
        return shown;
    }
    let odd = env::args_os().filter(|argument| argument.to_str().is_none());
    let odd: Vec<String> = odd.map(|argument| format!("'{}'", argument.display())).collect();
    let why =
        "is not UTF-8; only names of files, bodies and the command of exec may have other bytes";
    Flags::command().error(ErrorKind::InvalidUtf8, format!("{} {why}", odd.join(" or ")))
}

/// Prints a help or a refusal of clap's. A help that cannot be written is a failure; a reader that has
/// gone away is none.
fn told(shown: &clap::Error) -> ExitCode {
    let printed = shown.print().and_then(|()| io::stdout().flush());
    match printed {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe && !shown.use_stderr() => {
            stderr::note(&format!("error: cannot write to standard output: {error}"));
            ExitCode::FAILURE
        }
        _ => ExitCode::from(u8::try_from(shown.exit_code()).unwrap_or(1)),
    }
}
