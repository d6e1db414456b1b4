//! The command.

use std::process::ExitCode;

use crate::flags::ExecFlags;
use crate::stderr;

/// Runs the command.
pub(crate) fn exec(_flags: &ExecFlags) -> ExitCode {
    stderr::refuse(&"not yet")
}
