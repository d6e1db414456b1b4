//! Rules for the ends of an attempt that are worth another one.

use stagger_core::{Cause, Outcome, Verdict};

use super::attempt_outcome::AttemptOutcome;
use crate::flags::{ExecFlags, ExitCodes, SignalNames};

/// A command that could not be run, or that its user interrupted: 128 and SIGINT's number.
const NO_FAILURES: [u8; 3] = [126, 127, 130];

/// The flags about retrying.
#[derive(Clone, Debug)]
pub(super) struct RetryRules {
    exits: Exits,
    signals: Option<SignalNames>,
    timeouts: bool,
}

#[derive(Clone, Debug)]
enum Exits {
    Failures,
    None,
    These(ExitCodes),
}

impl RetryRules {
    pub(super) fn of(flags: &ExecFlags) -> Self {
        let exits = match &flags.retry_on_exit {
            Some(codes) => Exits::These(codes.clone()),
            None if flags.no_retry_on_exit => Exits::None,
            None => Exits::Failures,
        };
        let signals = flags.retry_on_signal.clone();
        Self { exits, signals, timeouts: flags.retry_on_timeout }
    }

    /// Returns the engine's outcome for this end.
    pub(super) fn outcome(&self, ended: &AttemptOutcome) -> Outcome {
        let worth = |yes: bool| if yes { Verdict::Transient } else { Verdict::Permanent };
        match ended {
            AttemptOutcome::Exited(0) => Outcome::OK,
            AttemptOutcome::Exited(code) => Outcome::new(worth(self.exit(*code))),
            AttemptOutcome::Signalled(signal) => {
                let named = self.signals.as_ref().is_some_and(|signals| signals.contains(*signal));
                Outcome::new(worth(named))
            }
            AttemptOutcome::TimedOut => {
                Outcome::new(worth(self.timeouts)).with_cause(Cause::Timeout)
            }
            AttemptOutcome::NotStarted { may_heal, .. } => {
                let verdict = if *may_heal { Verdict::Unprocessed } else { Verdict::Permanent };
                Outcome::new(verdict).with_cause(Cause::Transport)
            }
            AttemptOutcome::Cancelled => Outcome::new(Verdict::Cancelled),
            AttemptOutcome::OutputLost(_) => {
                Outcome::new(Verdict::Permanent).with_cause(Cause::Transport)
            }
        }
    }

    fn exit(&self, code: u8) -> bool {
        match &self.exits {
            Exits::Failures => !NO_FAILURES.contains(&code),
            Exits::None => false,
            Exits::These(codes) => codes.contains(code),
        }
    }
}
