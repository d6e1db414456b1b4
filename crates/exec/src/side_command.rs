//! A command beside the attempts, such as a check or a hook: in a process group of its own, with a limit in time, and
//! with everything that it prints on standard error.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::process::Stdio;

use rustix::process::Signal;
use stagger_core::Span;
use tokio::process::Command;

use crate::context::CallContext;
use crate::ending::{ended, limit, overdue};
use crate::outcome::AttemptOutcome;
use crate::process_group::ProcessGroup;

/// The longest time that a side command may take, and whether it also ends with the deadline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SideLimits {
    pub(crate) time: Span,
    /// Whether the deadline of the call ends it; what follows the call has the time alone.
    pub(crate) deadline: bool,
}

/// A command line for the shell of POSIX, whichever that is.
pub(crate) fn shell(script: &OsString) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(script);
    command
}

/// The place where a side command prints: standard output is the attempts' own.
pub(crate) fn on_standard_error() -> Stdio {
    io::stderr().as_fd().try_clone_to_owned().map_or_else(|_| Stdio::null(), Stdio::from)
}

/// Runs a command to its end, or to that of its limits. Signals go to it as they go to an attempt's command.
pub(crate) async fn run_beside(
    context: &CallContext,
    mut command: Command,
    limits: SideLimits,
) -> AttemptOutcome {
    command.stdin(Stdio::null()).process_group(0);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let program = command.as_std().get_program().display().to_string();
            return AttemptOutcome::not_started(&program, &error);
        }
    };
    // A child that was not waited for has an id.
    let Some(group) = ProcessGroup::of(&child) else { return AttemptOutcome::Signalled(0) };
    let before = context.group.replace(Some(group));
    context.beside.set(true);
    let out_of_time = async {
        tokio::select! {
            () = limit(Some(limits.time)) => {}
            () = context.expiry(), if limits.deadline => {}
        }
    };
    let outcome = tokio::select! {
        biased;
        status = ended(&mut child) => status.map_or_else(
            |error| AttemptOutcome::OutputLost(error.to_string()),
            AttemptOutcome::of,
        ),
        () = out_of_time => AttemptOutcome::TimedOut,
        never = overdue(context, group) => never,
    };
    if outcome == AttemptOutcome::TimedOut {
        let gone = async {
            let _ = ended(&mut child).await;
            group.gone().await;
        };
        group.end(context.grace, gone, |signal, error| context.refused(signal, error)).await;
    }
    context.group.set(before);
    context.beside.set(false);
    let had_terminal = context.terminal.is_lent();
    context.terminal.take_back();
    if let (true, AttemptOutcome::Signalled(number)) = (had_terminal, &outcome)
        && let Some(key @ (Signal::INT | Signal::QUIT)) = Signal::from_named_raw(*number)
    {
        context.typed(key);
    }
    outcome
}
