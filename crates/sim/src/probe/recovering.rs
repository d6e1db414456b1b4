//! The verdict on the recovery of a run, by the rule of its plan.

use stagger_core::Instant;

use super::drained::Drained;
use super::first_tries::FirstTries;
use crate::plan::{Recovery, RecoveryState};

/// The probe of a run's recovery, one kind for each rule.
#[derive(Clone, Debug)]
pub(crate) enum Recovering {
    /// The trouble lasts for the whole run.
    TroubleLasts,
    Drained(Drained),
    FirstTries(FirstTries),
}

impl Recovering {
    pub(crate) const fn new(edge: Instant, recovery: Recovery) -> Self {
        match recovery {
            Recovery::Drained => Self::Drained(Drained::new(edge)),
            Recovery::FirstTries(rule) => Self::FirstTries(FirstTries::new(edge, rule)),
        }
    }

    /// An outermost call begins.
    #[inline]
    pub(crate) fn arrived(&mut self, at: Instant) {
        if let Self::FirstTries(seen) = self {
            seen.count(at, 1, 0);
        }
    }

    /// The first attempt of the call that began at `started` succeeded.
    #[inline]
    pub(crate) fn first_try_succeeded(&mut self, started: Instant) {
        if let Self::FirstTries(seen) = self {
            seen.count(started, 0, 1);
        }
    }

    /// An outermost call is over.
    #[inline]
    pub(crate) fn over(&mut self, now: Instant, succeeded: bool) {
        if let Self::Drained(seen) = self {
            seen.over(now, succeeded);
        }
    }

    /// The verdict on a run of so many calls.
    pub(crate) fn verdict(&self, calls: u64) -> RecoveryState {
        match self {
            Self::TroubleLasts => RecoveryState::TroubleLasts,
            Self::Drained(seen) => seen.verdict(calls),
            Self::FirstTries(seen) => seen.verdict(),
        }
    }
}
