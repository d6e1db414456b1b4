//! The command that is run at every attempt.

use std::ffi::OsString;
use std::io;
use std::process::Stdio;

use stagger::AttemptInfo;
use tokio::process::{Child, Command};

use super::input::Input;
use super::nested;
use crate::flags::OutputMode;

/// What to run, and what it reads and writes.
#[derive(Debug)]
pub(super) struct Order {
    /// The program and its arguments; never empty, because the flags require it.
    pub(super) argv: Vec<OsString>,
    pub(super) input: Input,
    /// When output is let out.
    pub(super) output: OutputMode,
    /// Whether more than one attempt may be made.
    pub(super) retries: bool,
}

impl Order {
    /// The program for messages.
    pub(super) fn program(&self) -> String {
        self.argv.first().map_or_else(String::new, |program| program.display().to_string())
    }

    /// Whether output is kept back until the attempt has ended.
    pub(super) fn keeps_output(&self) -> bool {
        self.output != OutputMode::Stream
    }

    /// Starts the command at the head of a process group of its own.
    ///
    /// # Errors
    /// What the system has against it.
    pub(super) fn start(&self, info: &AttemptInfo) -> io::Result<Child> {
        let (program, arguments) = self.argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(self.input.stdio()?).process_group(0);
        if self.keeps_output() {
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        nested::mark(&mut command, info, self.retries);
        command.spawn()
    }
}
