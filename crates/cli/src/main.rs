//! The stagger binary: stress-test a retry policy before it ships, and deliver webhooks under it.
#![forbid(unsafe_code)]

mod cmd;
mod command_error;
mod flags;
mod interrupt;
mod policy_file;
mod render;
mod scenario_file;
mod shipped;
mod streams;

use std::env;
use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser};

use command_error::CommandError;
use flags::{Command, Flags};

fn main() -> ExitCode {
    match Flags::try_parse() {
        Ok(flags) => run(&flags.command),
        Err(shown) => told(&without_dashes(not_text(shown))),
    }
}

fn run(command: &Command) -> ExitCode {
    let (name, ended) = match command {
        Command::Storm(flags) => ("storm", cmd::storm(flags).map(|page| streams::write(&page))),
        Command::Watch(flags) => ("watch", cmd::watch(flags)),
        Command::Demo(flags) => ("demo", Ok(cmd::demo(flags))),
        Command::Proxy(flags) => ("proxy", Ok(cmd::proxy(flags))),
        Command::Serve(flags) => ("serve", Ok(cmd::serve(flags))),
        Command::Webhooks(flags) => ("webhooks", Ok(cmd::webhooks(flags))),
        Command::Listen(flags) => ("listen", Ok(cmd::listen(flags))),
        Command::Store(flags) => ("store", Ok(cmd::store(flags))),
        Command::Tune(flags) => ("tune", cmd::tune(flags)),
        Command::Operator(flags) => ("operator", Ok(cmd::operator(flags))),
        Command::Explain(flags) => ("explain", cmd::explain(flags)),
        Command::Lint(flags) => ("lint", Ok(cmd::lint(flags))),
        Command::Choose(flags) => ("choose", cmd::choose(flags)),
        Command::Import(flags) => ("import", cmd::import(flags)),
        Command::Export(flags) => ("export", cmd::export(flags)),
        Command::Exec(flags) => ("exec", cmd::exec(flags)),
        Command::Http(flags) => ("http", cmd::http(flags)),
        Command::Completions(flags) => ("completions", Ok(cmd::completions(flags))),
        Command::Man(flags) => ("man", cmd::man(flags)),
    };
    ended.unwrap_or_else(|error| refuse(error, name))
}

/// Writes the error of a command to standard error, with its usage where a flag is wrong.
fn refuse(error: CommandError, command: &str) -> ExitCode {
    let CommandError::Flag(kind, message) = error else { return error.tell() };
    let mut flags = Flags::command();
    flags.build();
    match flags.find_subcommand_mut(command) {
        Some(command) => command.error(kind, message).exit(),
        None => flags.error(kind, message).exit(),
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

/// Says where the command of `exec` stands when it stands among the flags.
fn without_dashes(shown: clap::Error) -> clap::Error {
    let named = env::args_os().nth(1).is_some_and(|command| command == "exec");
    let argument = match shown.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(argument)) if !argument.starts_with('-') => argument.clone(),
        _ => return shown,
    };
    let mut flags = Flags::command();
    flags.build();
    match flags.find_subcommand_mut("exec") {
        Some(exec) if named && shown.kind() == ErrorKind::UnknownArgument => {
            let why = format!(
                "unexpected argument '{argument}' found\n\n  tip: the command stands behind '--', as in \
                 'stagger exec -- {argument}'"
            );
            exec.error(ErrorKind::UnknownArgument, why)
        }
        _ => shown,
    }
}

/// Prints a help or a refusal of clap's. A help that cannot be written is a failure; a reader that has
/// gone away is none.
fn told(shown: &clap::Error) -> ExitCode {
    let printed = shown.print().and_then(|()| io::stdout().flush());
    match printed {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe && !shown.use_stderr() => {
            streams::note(&format!("error: cannot write to standard output: {error}"));
            ExitCode::FAILURE
        }
        _ => ExitCode::from(u8::try_from(shown.exit_code()).unwrap_or(1)),
    }
}
