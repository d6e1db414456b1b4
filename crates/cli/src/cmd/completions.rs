//! `stagger completions`.

use std::process::ExitCode;

use crate::flags::CompletionsFlags;
use crate::stderr;

/// Runs the command.
pub(crate) fn completions(_flags: &CompletionsFlags) -> ExitCode {
    stderr::refuse(&"not yet")
}
