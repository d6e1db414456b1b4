//! The stagger binary: stress-test a retry policy before it ships.
#![forbid(unsafe_code)]

mod cmd;
mod flags;
mod progress;
mod render;
mod stdout;

use std::process::ExitCode;

use clap::Parser;

use flags::{Command, Flags};

fn main() -> ExitCode {
    let Command::Storm(storm) = Flags::parse().command;
    match cmd::storm(&storm) {
        Ok(page) => stdout::write(&page),
        Err(error) => error.exit(),
    }
}
