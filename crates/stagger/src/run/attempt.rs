//! An attempt: its facts for the operation that makes it, and its end for the classifier.

use stagger_core::retry::{Attempt, Stop};
use stagger_core::{Instant, Outcome, Policy, Remedy, Span};

use super::history::Mark;

/// The attempt under way, for operations that want to know: see
/// [`Retrier::retry_with`](crate::Retrier::retry_with).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttemptInfo {
    /// Its number, from 1.
    pub number: u32,
    /// The time limit of the attempt: the policy's, or what the deadline leaves if that
    /// is less. Async executors enforce it; a blocking operation has to hand it to its socket.
    pub timeout: Option<Span>,
    /// The rest of the deadline for this attempt and all that follow, to be sent along.
    pub remaining: Option<Span>,
    /// The change that this attempt must make, because the last outcome asked for it.
    pub remedy: Option<Remedy>,
}

impl AttemptInfo {
    /// A first attempt without limits.
    #[cfg(feature = "tower")]
    pub(crate) const FIRST: Self = Self { number: 1, timeout: None, remaining: None, remedy: None };

    /// The first attempt, which has all the time there is.
    #[inline]
    pub(super) fn first(policy: &Policy) -> Self {
        let limits = policy.limits();
        let (timeout, remaining) = (limits.first_attempt_limit(), limits.deadline());
        Self { number: 1, timeout, remaining, remedy: None }
    }

    /// An attempt that starts at `now`, of a call that began at `started`.
    pub(super) fn of(policy: &Policy, (started, now): (Instant, Instant), it: &Attempt) -> Self {
        let Attempt { number, timeout, remedy, .. } = *it;
        let remaining = policy.limits().deadline().map(|limit| (started + limit) - now);
        Self { number, timeout, remaining, remedy }
    }
}

/// An attempt that has settled, for [classifiers](crate::Classifier::on_attempt) that observe what follows.
#[derive(Debug)]
#[non_exhaustive]
pub struct AttemptEnd<'a, T, E> {
    /// Its number, from 1.
    pub number: u32,
    /// The time at which it settled, counted from the start of the call.
    pub at: Span,
    /// Its result; `None` when its time ran out first.
    pub result: Option<&'a Result<T, E>>,
    /// The meaning of the result.
    pub outcome: &'a Outcome,
    /// The next step.
    pub next: NextStep,
}

/// The step after an attempt that has settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NextStep {
    /// Another attempt after this delay, unless the breaker refuses it by then.
    Retry(Span),
    /// Other copies of the call are still under way.
    Copies,
    /// No further attempt, for this reason.
    Stop(Stop),
}

impl<'a, T, E> AttemptEnd<'a, T, E> {
    pub(super) const fn new(
        (mark, next): (Mark, NextStep),
        result: Option<&'a Result<T, E>>,
        outcome: &'a Outcome,
    ) -> Self {
        Self { number: mark.attempt, at: mark.at, result, outcome, next }
    }
}
