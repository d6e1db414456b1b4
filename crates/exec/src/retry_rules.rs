//! Rules for the ends of an attempt that are worth another one.

use std::ops::RangeInclusive;
use std::str::FromStr;

use stagger_core::{Cause, Outcome, Span, Verdict};

use crate::outcome::AttemptOutcome;
use crate::signals::SignalNames;

/// A command that could not be run, or that its user interrupted: 128 and SIGINT's number.
const NO_FAILURES: [u8; 3] = [126, 127, 130];

/// The exit codes, signals and timeouts after which there is another attempt.
#[derive(Clone, Debug)]
pub struct RetryRules {
    /// The exit codes that are retried.
    pub exits: RetriedExits,
    /// The signals that are retried; none when left out.
    pub signals: Option<SignalNames>,
    /// Whether an attempt that ran out of its time is retried.
    pub timeouts: bool,
    /// The exit codes after which the destination is left alone for a time.
    pub exit_hints: Vec<ExitHint>,
}

/// Exit codes that are retried.
#[derive(Clone, Debug)]
pub enum RetriedExits {
    /// All but 0, 126, 127 and 130.
    Failures,
    /// None.
    None,
    /// Those that are named.
    These(ExitCodes),
}

impl RetryRules {
    /// Returns the engine's outcome for this end.
    pub(crate) fn outcome(&self, ended: &AttemptOutcome) -> Outcome {
        let worth = |yes: bool| if yes { Verdict::Transient } else { Verdict::Permanent };
        match ended {
            AttemptOutcome::Exited(0) | AttemptOutcome::Ready(_) => Outcome::OK,
            AttemptOutcome::OutputMatched(_) | AttemptOutcome::Unready { .. } => {
                Outcome::new(Verdict::Transient)
            }
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

    /// The longest time for which this end asks to be left alone.
    pub(crate) fn hint(&self, ended: &AttemptOutcome) -> Option<Span> {
        let code = ended.exit().filter(|_| !ended.is_success())?;
        let named = self.exit_hints.iter().filter(|hint| hint.codes.contains(code));
        named.map(|hint| hint.time).max()
    }

    fn exit(&self, code: u8) -> bool {
        match &self.exits {
            RetriedExits::Failures => !NO_FAILURES.contains(&code),
            RetriedExits::None => false,
            RetriedExits::These(codes) => codes.contains(code),
        }
    }
}

/// The exit codes that a flag names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExitCodes(Vec<RangeInclusive<u8>>);

impl ExitCodes {
    /// Whether this one is among them.
    pub(crate) fn contains(&self, code: u8) -> bool {
        self.0.iter().any(|range| range.contains(&code))
    }
}

impl FromStr for ExitCodes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.split(',').map(range).collect::<Result<_, _>>().map(Self)
    }
}

/// A hint by exit code: the destination is left alone for a time after these codes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExitHint {
    codes: ExitCodes,
    time: Span,
}

impl FromStr for ExitHint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (codes, time) = text
            .split_once('=')
            .ok_or_else(|| "must be exit codes and a time, as in 75=5m".to_owned())?;
        let time = time.parse().map_err(|error| format!("{time:?}: must be {error}"))?;
        Ok(Self { codes: codes.parse()?, time })
    }
}

fn range(text: &str) -> Result<RangeInclusive<u8>, String> {
    let code = |text: &str| {
        let code = text.trim().parse::<u8>().ok().filter(|code| *code > 0);
        code.ok_or_else(|| {
            format!("{text:?}: exit codes of failures are from 1 to 255, as in 1,3-9")
        })
    };
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (code(first)?, code(last)?);
    if first > last {
        return Err(format!("{text:?}: a range begins with the smaller code"));
    }
    Ok(first..=last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_left_out_its_ends() {
        let codes: ExitCodes = "1,3-9".parse().unwrap();
        let held: Vec<u8> = (0..=255).filter(|code| codes.contains(*code)).collect();
        assert_eq!(held, [1, 3, 4, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn a_hint_by_exit_code_was_that_of_another_code_or_of_a_success() {
        let hints = ["75=5m", "1-75=10s"].map(|text| text.parse().unwrap());
        let rules = RetryRules {
            exits: RetriedExits::Failures,
            signals: None,
            timeouts: true,
            exit_hints: hints.to_vec(),
        };
        let hint = |ended| rules.hint(&ended);
        assert_eq!(hint(AttemptOutcome::Exited(75)), Some(Span::from_secs(300)));
        assert_eq!(hint(AttemptOutcome::Exited(2)), Some(Span::from_secs(10)));
        assert_eq!(hint(AttemptOutcome::Exited(76)), None);
        assert_eq!(hint(AttemptOutcome::Ready(Some(75))), None);
        for text in ["75", "75=", "=5m", "0=5m", "75=soon"] {
            assert!(text.parse::<ExitHint>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_no_set_of_failures_is_refused() {
        for text in ["", "0", "256", "-1", "9-3", "1,,2", "one", "1-"] {
            assert!(text.parse::<ExitCodes>().is_err(), "{text}");
        }
    }
}
