//! The command.

use std::process::ExitCode;

use crate::flags::ImportFlags;
use crate::stderr;

/// Runs the command.
pub(crate) fn import(_flags: &ImportFlags) -> ExitCode {
    stderr::refuse(&"not yet")
}
