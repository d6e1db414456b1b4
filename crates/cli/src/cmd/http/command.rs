//! The command.

use std::process::ExitCode;

use crate::flags::HttpFlags;
use crate::stderr;

/// Runs the command.
pub(crate) fn http(_flags: &HttpFlags) -> ExitCode {
    stderr::refuse(&"not yet")
}
