//! The stagger binary: stress-test a retry policy before it ships, and deliver webhooks under it.
#![forbid(unsafe_code)]

mod cmd;
mod flags;
mod interrupt;
mod memory;
mod progress;
mod render;
mod scenario_file;
mod spelling;
mod stderr;
mod stdout;

use std::process::ExitCode;

use clap::Parser;

use flags::{Command, Flags};

fn main() -> ExitCode {
    match Flags::parse().command {
        Command::Storm(flags) => match cmd::storm(&flags) {
            Ok(page) => stdout::write(&page),
            Err(refusal) => refusal.tell(),
        },
        Command::Demo(flags) => cmd::demo(&flags),
        Command::Serve(flags) => cmd::serve(&flags),
        Command::Store(flags) => cmd::store(&flags),
    }
}
