//! The command that is run at every attempt, its standard input, and the variables that tell it which attempt it is.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::PathBuf;
use std::process::Stdio;

use rustix::io::Errno;
use stagger::AttemptInfo;
use tokio::process::{Child, Command};

use crate::output::unnamed;

/// The number of the attempt, from 1. A process in whose environment it stands is part of an attempt.
const ATTEMPT: &str = "STAGGER_ATTEMPT";
/// The time left of the deadline, in whole milliseconds.
const DEADLINE: &str = "STAGGER_DEADLINE_MS";

/// The treatment of the command's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputMode {
    /// As it comes, that of failed attempts too.
    Stream,
    /// Kept back; standard output of a successful attempt only.
    Buffer,
    /// Kept back; that of the last attempt, whether it succeeded or not.
    Last,
}

/// The command, its input and its output.
#[derive(Debug)]
pub(crate) struct AttemptCommand {
    /// The program and its arguments; never empty, because the flags require it.
    pub(crate) argv: Vec<OsString>,
    pub(crate) input: Input,
    /// The rule for letting output out.
    pub(crate) output: OutputMode,
    /// The number of attempts at most; `None` for any number.
    pub(crate) most: Option<u32>,
}

impl AttemptCommand {
    /// The program for messages.
    pub(crate) fn program(&self) -> String {
        self.argv.first().map_or_else(String::new, |program| program.display().to_string())
    }

    /// Whether output is kept back until the attempt has ended.
    pub(crate) fn keeps_output(&self) -> bool {
        self.output != OutputMode::Stream
    }

    /// Starts the command at the head of a process group of its own. A script without a `#!` line is one
    /// of the shell, as POSIX has it for `execvp`.
    ///
    /// # Errors
    /// The system's refusal.
    pub(crate) fn start(&self, info: &AttemptInfo) -> io::Result<Child> {
        let (program, arguments) = self.argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        match self.spawn(Command::new(program), arguments, info) {
            Err(error) if error.raw_os_error() == Some(Errno::NOEXEC.raw_os_error()) => {
                let mut shell = Command::new("/bin/sh");
                shell.arg(found(program));
                self.spawn(shell, arguments, info)
            }
            started => started,
        }
    }

    fn spawn(
        &self,
        mut command: Command,
        arguments: &[OsString],
        info: &AttemptInfo,
    ) -> io::Result<Child> {
        command.args(arguments).stdin(self.input.stdio()?).process_group(0);
        if self.keeps_output() {
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        mark(&mut command, info, self.most != Some(1));
        command.spawn()
    }
}

/// Returns the path of a program: its own, or its place in PATH.
fn found(program: &OsStr) -> PathBuf {
    let named = PathBuf::from(program);
    if named.components().count() > 1 {
        return named;
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    let mut places = env::split_paths(&folders).map(|folder| folder.join(program));
    places.find(|place| place.is_file()).unwrap_or(named)
}

/// Whether this process is part of an attempt of another `stagger exec`. An empty variable is what
/// scripts have in place of one that is not set.
pub(crate) fn is_inside() -> bool {
    env::var_os(ATTEMPT).is_some_and(|number| !number.is_empty())
}

/// Tells a command which attempt it is, unless there is one only, and how much time is left. A call
/// of one attempt retries nothing, so the command's own retries do not multiply with it; the mark of
/// a call around this one stays.
pub(crate) fn mark(command: &mut Command, info: &AttemptInfo, retries: bool) {
    if retries {
        command.env(ATTEMPT, info.number.to_string());
    }
    match info.remaining {
        Some(left) => command.env(DEADLINE, left.to_duration().as_millis().to_string()),
        // An outer deadline is not this command's.
        None => command.env_remove(DEADLINE),
    };
}

/// The standard input of every attempt.
#[derive(Debug)]
pub enum Input {
    /// That of this process, which reads nothing of it.
    Inherit,
    /// Nothing.
    Null,
    /// All that was read, in a file without a name that can only be read.
    Kept(File),
}

impl Input {
    /// Reads standard input to its end, so that every attempt has all of it.
    ///
    /// # Errors
    /// More than `limit` bytes, or the system's refusal, in words.
    pub fn buffered(limit: u64) -> Result<Self, String> {
        let failed = |error: io::Error| error.to_string();
        let (mut writes, reads) = unnamed().map_err(failed)?;
        let mut input = io::stdin().lock().take(limit.saturating_add(1));
        let read = io::copy(&mut input, &mut writes).map_err(failed)?;
        if read > limit {
            return Err(format!(
                "standard input has more than {limit} bytes; allow it with buffer:SIZE"
            ));
        }
        Ok(Self::Kept(reads))
    }

    /// The same bytes again, from the first one on.
    pub(crate) fn stdio(&self) -> io::Result<Stdio> {
        match self {
            Self::Inherit => Ok(Stdio::inherit()),
            Self::Null => Ok(Stdio::null()),
            Self::Kept(file) => {
                // One offset for all copies: attempts follow each other, and never overlap.
                let mut copy = file.try_clone()?;
                copy.rewind()?;
                Ok(copy.into())
            }
        }
    }
}
