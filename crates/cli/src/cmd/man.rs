//! `stagger man`.

use std::process::ExitCode;

use crate::flags::ManFlags;
use crate::stderr;

/// Runs the command.
pub(crate) fn man(_flags: &ManFlags) -> ExitCode {
    stderr::refuse(&"not yet")
}
