//! The end of one attempt.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use crate::signals::{signal_code, signal_name};

/// The code of a failure of stagger itself, apart from the command's own: as of `timeout`, `env`
/// and `docker run`.
pub(crate) const OWN_FAILURE: u8 = 125;
/// As of `sendmail` (EX_TEMPFAIL): not now, and later perhaps.
pub(crate) const NOT_NOW: u8 = 75;
/// Of a command that exited with 0 and printed what makes it a failure.
const OUTPUT_FAILURE: u8 = 1;
/// As of `timeout`.
const TIMED_OUT: u8 = 124;
/// As of shells: found, and cannot be run.
const NOT_EXECUTABLE: u8 = 126;
/// As of shells.
const NOT_FOUND: u8 = 127;

/// The end of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AttemptOutcome {
    Exited(u8),
    Signalled(i32),
    TimedOut,
    /// It was not begun, because a signal came first.
    Cancelled,
    NotStarted {
        code: u8,
        why: String,
        /// Whether the system was only short of something.
        may_heal: bool,
    },
    /// Its output could not be kept.
    OutputLost(String),
    /// It exited, and a line of its output says that another attempt is worth it.
    OutputMatched(u8),
    /// All checks hold, whatever the command's own exit code, if it has one.
    Ready(Option<u8>),
    /// A check does not hold.
    Unready {
        exit: Option<u8>,
        /// The exit code of the check.
        code: u8,
        why: String,
    },
}

impl AttemptOutcome {
    pub(crate) fn of(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Exited(u8::try_from(code).unwrap_or(u8::MAX)),
            (None, signal) => Self::Signalled(signal.unwrap_or(0)),
        }
    }

    /// The system's refusal to start a command.
    pub(crate) fn not_started(program: &str, error: &io::Error) -> Self {
        use io::ErrorKind::{ExecutableFileBusy, NotFound, OutOfMemory, WouldBlock};
        let (code, may_heal) = match error.kind() {
            NotFound => (NOT_FOUND, false),
            WouldBlock | OutOfMemory => (OWN_FAILURE, true),
            ExecutableFileBusy => (NOT_EXECUTABLE, true),
            _ => (NOT_EXECUTABLE, false),
        };
        Self::NotStarted { code, why: format!("cannot run {program}: {error}"), may_heal }
    }

    pub(crate) const fn is_success(&self) -> bool {
        matches!(self, Self::Exited(0) | Self::Ready(_))
    }

    /// Returns the exit code of stagger when this was the last attempt.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Exited(code) | Self::NotStarted { code, .. } | Self::Unready { code, .. } => {
                *code
            }
            Self::OutputMatched(code) => (*code).max(OUTPUT_FAILURE),
            Self::Ready(_) => 0,
            Self::Signalled(signal) => signal_code(*signal),
            Self::TimedOut => TIMED_OUT,
            Self::Cancelled | Self::OutputLost(_) => OWN_FAILURE,
        }
    }

    /// The exit code of the command itself, if it exited.
    pub(crate) const fn exit(&self) -> Option<u8> {
        match self {
            Self::Exited(code) | Self::OutputMatched(code) => Some(*code),
            Self::Ready(exit) | Self::Unready { exit, .. } => *exit,
            _ => None,
        }
    }

    /// Its name in the log: one word that does not change.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Exited(_) => "exited",
            Self::Signalled(_) => "signalled",
            Self::TimedOut => "timed_out",
            Self::Cancelled | Self::NotStarted { .. } => "not_started",
            Self::OutputLost(_) => "output_lost",
            Self::OutputMatched(_) => "output_matched",
            Self::Ready(_) => "ready",
            Self::Unready { .. } => "unready",
        }
    }

    /// In words for people, after "attempt 2".
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Exited(0) => "succeeded".to_owned(),
            Self::Exited(code) => format!("exited with {code}"),
            Self::Signalled(signal) => format!("was ended by {}", signal_name(*signal)),
            Self::TimedOut => "ran out of time".to_owned(),
            Self::Cancelled => "was not begun".to_owned(),
            Self::NotStarted { why, .. } => why.clone(),
            Self::OutputLost(why) => format!("lost its output: {why}"),
            Self::OutputMatched(code) => {
                format!("exited with {code} and printed what --retry-on-output names")
            }
            Self::Ready(_) => "passed its checks".to_owned(),
            Self::Unready { why, .. } => format!("failed its check {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_of_the_tool_itself_hid_that_of_the_command() {
        assert_eq!(AttemptOutcome::Exited(22).code(), 22);
        assert_eq!(AttemptOutcome::Signalled(9).code(), 137);
        assert_eq!(AttemptOutcome::TimedOut.code(), 124);
        let missing = AttemptOutcome::not_started("x", &io::Error::from(io::ErrorKind::NotFound));
        let denied =
            AttemptOutcome::not_started("x", &io::Error::from(io::ErrorKind::PermissionDenied));
        assert_eq!((missing.code(), denied.code()), (127, 126));
        let matched = [0, 9].map(|code| AttemptOutcome::OutputMatched(code).code());
        assert_eq!(matched, [1, 9], "output that is retried is no success");
    }
}
