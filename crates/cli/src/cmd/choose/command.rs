//! The command.

use std::process::ExitCode;

use crate::flags::ChooseFlags;
use crate::stderr;

/// Runs the command.
pub(crate) fn choose(_flags: &ChooseFlags) -> ExitCode {
    stderr::refuse(&"not yet")
}
