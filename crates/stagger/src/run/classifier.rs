//! Classifiers of the results of attempts.

use std::task::{Context, Poll};

use stagger_core::{Outcome, Verdict};

use super::{AttemptEnd, Classify};

/// Classifies the results of attempts.
///
/// Made by [`Retrier::retry_if`](crate::Retrier::retry_if) and its neighbours; an integration brings
/// one of its own for its own results.
pub trait Classifier<T, E> {
    /// Classifies this result.
    fn classify(&mut self, result: &Result<T, E>) -> Outcome;

    /// Called when it is decided what follows an attempt, before its delay. Default: does nothing.
    ///
    /// Not called for the success that ends a call, unless a [report](crate::Run::report) was requested;
    /// nor for the rounds of a batch.
    ///
    /// ```
    /// use stagger::{AttemptEnd, Classifier, Outcome, Policy, Retrier, NextStep, StdTime, Verdict, retry::Stop};
    /// struct Listening<'a>(&'a mut Vec<(u32, NextStep)>);
    /// impl Classifier<(), ()> for Listening<'_> {
    ///     fn classify(&mut self, _: &Result<(), ()>) -> Outcome {
    ///         Outcome::new(Verdict::Permanent)
    ///     }
    ///     fn on_attempt(&mut self, attempt: &AttemptEnd<'_, (), ()>) {
    ///         self.0.push((attempt.number, attempt.next));
    ///     }
    /// }
    /// let (retrier, mut heard) = (Retrier::new(Policy::default(), StdTime), Vec::new());
    /// let failed = retrier.call().classified_by(Listening(&mut heard)).run_blocking(|| Err::<(), ()>(()));
    /// assert!(failed.is_err());
    /// assert_eq!(heard, [(1, NextStep::Stop(Stop::Permanent))]);
    /// ```
    fn on_attempt(&mut self, attempt: &AttemptEnd<'_, T, E>) {
        let _ = attempt;
    }

    /// Polled while an async call waits before its next attempt, which starts when the wait is over and
    /// this is ready. For finishing with the attempt before: reading the rest of a failed reply, so
    /// that its connection can be used again. Default: ready.
    fn poll_waiting(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let _ = context;
        Poll::Ready(())
    }
}

/// The error type classifies itself, by [`Classify`]; every `Ok` is a success.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByType;

/// A closure picks the errors that are worth another attempt.
#[derive(Clone, Copy, Debug)]
pub struct RetryIf<F>(pub(crate) F);

/// A closure classifies errors; every `Ok` is a success.
#[derive(Clone, Copy, Debug)]
pub struct ByError<F>(pub(crate) F);

/// A closure classifies whole results.
#[derive(Clone, Copy, Debug)]
pub struct ByResult<F>(pub(crate) F);

impl<T, E: Classify> Classifier<T, E> for ByType {
    fn classify(&mut self, result: &Result<T, E>) -> Outcome {
        result.as_ref().err().map_or(Outcome::OK, Classify::classify)
    }
}

impl<T, E, F: FnMut(&E) -> bool> Classifier<T, E> for RetryIf<F> {
    fn classify(&mut self, result: &Result<T, E>) -> Outcome {
        let Err(error) = result else { return Outcome::OK };
        Outcome::new(if (self.0)(error) { Verdict::Transient } else { Verdict::Permanent })
    }
}

impl<T, E, F: FnMut(&E) -> Outcome> Classifier<T, E> for ByError<F> {
    fn classify(&mut self, result: &Result<T, E>) -> Outcome {
        result.as_ref().err().map_or(Outcome::OK, &mut self.0)
    }
}

impl<T, E, F: FnMut(&Result<T, E>) -> Outcome> Classifier<T, E> for ByResult<F> {
    fn classify(&mut self, result: &Result<T, E>) -> Outcome {
        (self.0)(result)
    }
}
