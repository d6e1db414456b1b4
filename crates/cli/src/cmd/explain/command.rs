//! The command.

use std::process::ExitCode;

use crate::flags::ExplainFlags;
use crate::stderr;

/// Runs the command.
pub(crate) fn explain(_flags: &ExplainFlags) -> ExitCode {
    stderr::refuse(&"not yet")
}
