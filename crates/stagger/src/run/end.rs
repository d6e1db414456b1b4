//! The end of an attempt, and the step that follows it.

use stagger_core::retry::Stop;
use stagger_core::{Outcome, Span};

use super::call_guard::{Mark, Next};

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
    pub(crate) fn new(
        (next, mark): (Next, Mark),
        result: Option<&'a Result<T, E>>,
        outcome: &'a Outcome,
    ) -> Self {
        let next = match next {
            Next::Call(_) => NextStep::Retry(Span::ZERO),
            Next::Wait(delay) => NextStep::Retry(delay),
            Next::Copies(_) => NextStep::Copies,
            Next::Done(done) => NextStep::Stop(done.stop),
        };
        Self { number: mark.attempt, at: mark.at, result, outcome, next }
    }
}
