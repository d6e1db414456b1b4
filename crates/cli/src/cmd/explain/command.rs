//! The command.

use std::process::ExitCode;

use crate::flags::ExplainFlags;
use crate::stderr;

/// Runs the command.
pub(crate) fn explain(flags: &ExplainFlags) -> ExitCode {
    match flags.source.load() {
        Ok(_) => stderr::refuse(&"not yet"),
        Err(refusal) => refusal.tell("explain"),
    }
}
