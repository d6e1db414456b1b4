//! The end of this process: an exit code, or death by the signal that ended the command.

use std::process::ExitCode;

use rustix::process::setrlimit;
use rustix::process::{Resource, Rlimit, Signal, getpid, getrlimit, kill_current_process_group};

use super::attempt_outcome::signal_code;

/// The end of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// It exits with a code.
    Code(u8),
    /// It dies of a signal, because bash ends a script only when a command dies of Ctrl-C: a command
    /// that exits with 130 may have handled it. Shells see 128 + N either way.
    Signal(i32),
    /// The same, and the other processes of the job get the signal too.
    JobSignal(Signal),
}

impl Exit {
    /// Dies of the signal; returns the code to exit with otherwise.
    pub(super) fn finish(self) -> ExitCode {
        match self {
            Self::Code(code) => ExitCode::from(code),
            Self::Signal(signal) => die(signal),
            Self::JobSignal(signal) => {
                let _ = kill_current_process_group(signal);
                die(signal.as_raw())
            }
        }
    }
}

/// Resets the handler of the signal and raises it again.
fn die(signal: i32) -> ExitCode {
    // The kernel protects the first process of a container from its own signals.
    if !getpid().is_init() {
        // QUIT dumps core: the command's own dump is the useful one.
        let limit = Rlimit { current: Some(0), ..getrlimit(Resource::Core) };
        let _ = setrlimit(Resource::Core, limit);
        let _ = signal_hook::low_level::emulate_default_handler(signal);
    }
    ExitCode::from(signal_code(signal))
}
