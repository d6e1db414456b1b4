//! The command.

use std::process::ExitCode;

use crate::flags::LintFlags;
use crate::stderr;

/// Runs the command.
pub(crate) fn lint(_flags: &LintFlags) -> ExitCode {
    stderr::refuse(&"not yet")
}
