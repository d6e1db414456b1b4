//! Classifiers of the results of attempts, and error types that classify themselves.

use std::io;
use std::task::{Context, Poll};
use std::time::Duration;

use stagger_core::classify::{TransportRules, classify_error};
use stagger_core::{Cause, Hint, Outcome, Span, Verdict};

use super::{AttemptEnd, NextStep};

/// Classifies the results of attempts.
///
/// Made by [`RetryCall::when`](crate::RetryCall::when) and its neighbours; an integration brings one of its own for its
/// own results.
pub trait Classifier<T, E> {
    /// Classifies an error, for a classifier of nothing else: every `Ok` is a success, and only this and
    /// [`classify`](Self::classify) do anything, in the same way. A place in the code that makes a call under such a
    /// classifier has less code. Default: none.
    const OF_ERROR: Option<fn(&mut Self, &E) -> Outcome> = None;

    /// Classifies this result.
    fn classify(&mut self, result: &Result<T, E>) -> Outcome;

    /// Called when it is decided what follows an attempt, before its delay. Default: does nothing.
    ///
    /// Not called for the success that ends a call, unless a [report](crate::RetryCall::report) was requested;
    /// nor for the rounds of a batch.
    ///
    /// ```
    /// use stagger::{AttemptEnd, Classifier, NextStep, Outcome, Policy, Retrier, StdTime, Stop, Verdict};
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
    /// let failed = retrier.retry_blocking(|| Err::<(), ()>(())).classified_by(Listening(&mut heard)).call();
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

/// The function of a classifier of errors only.
pub(super) const fn of_errors<T, E, J: Classifier<T, E>>() -> fn(&mut J, &E) -> Outcome {
    match J::OF_ERROR {
        Some(classify) => classify,
        None => |_, _| UNKNOWN,
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
    const OF_ERROR: Option<fn(&mut Self, &E) -> Outcome> = Some(|_, error| error.classify());

    fn classify(&mut self, result: &Result<T, E>) -> Outcome {
        result.as_ref().err().map_or(Outcome::OK, Classify::classify)
    }
}

impl<F> RetryIf<F> {
    #[inline]
    fn of_error<E>(&mut self, error: &E) -> Outcome
    where
        F: FnMut(&E) -> bool,
    {
        Outcome::new(if (self.0)(error) { Verdict::Transient } else { Verdict::Permanent })
    }
}

impl<T, E, F: FnMut(&E) -> bool> Classifier<T, E> for RetryIf<F> {
    const OF_ERROR: Option<fn(&mut Self, &E) -> Outcome> = Some(Self::of_error);

    fn classify(&mut self, result: &Result<T, E>) -> Outcome {
        let Err(error) = result else { return Outcome::OK };
        self.of_error(error)
    }
}

impl<T, E, F: FnMut(&E) -> Outcome> Classifier<T, E> for ByError<F> {
    const OF_ERROR: Option<fn(&mut Self, &E) -> Outcome> = Some(|by, error| (by.0)(error));

    fn classify(&mut self, result: &Result<T, E>) -> Outcome {
        result.as_ref().err().map_or(Outcome::OK, &mut self.0)
    }
}

impl<T, E, F: FnMut(&Result<T, E>) -> Outcome> Classifier<T, E> for ByResult<F> {
    fn classify(&mut self, result: &Result<T, E>) -> Outcome {
        (self.0)(result)
    }
}

/// A classifier whose errors bring a hint: see [`RetryCall::retry_after`](crate::RetryCall::retry_after).
#[derive(Clone, Copy, Debug)]
pub struct RetryAfter<J, F> {
    pub(super) classifier: J,
    pub(super) hint: F,
}

impl<J, F> RetryAfter<J, F> {
    /// The outcome of an error with the hint that it brings.
    fn hinted<E, S>(&mut self, error: &E, outcome: Outcome) -> Outcome
    where
        F: FnMut(&E) -> Option<S>,
        S: Into<Span>,
    {
        let Some(hint) = (self.hint)(error) else { return outcome };
        outcome.with_hint(Hint::AtLeast(hint.into()))
    }
}

impl<T, E, J, F, S> Classifier<T, E> for RetryAfter<J, F>
where
    J: Classifier<T, E>,
    F: FnMut(&E) -> Option<S>,
    S: Into<Span>,
{
    const OF_ERROR: Option<fn(&mut Self, &E) -> Outcome> = match J::OF_ERROR {
        Some(_) => Some(|by, error| {
            let classify = const { of_errors::<T, E, J>() };
            let outcome = classify(&mut by.classifier, error);
            by.hinted(error, outcome)
        }),
        None => None,
    };

    fn classify(&mut self, result: &Result<T, E>) -> Outcome {
        let outcome = self.classifier.classify(result);
        let Err(error) = result else { return outcome };
        self.hinted(error, outcome)
    }

    fn on_attempt(&mut self, attempt: &AttemptEnd<'_, T, E>) {
        self.classifier.on_attempt(attempt);
    }

    fn poll_waiting(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.classifier.poll_waiting(context)
    }
}

/// A classifier that passes every retry on to a closure: see [`RetryCall::notify`](crate::RetryCall::notify).
#[derive(Clone, Copy, Debug)]
pub struct Notify<J, F> {
    pub(super) classifier: J,
    pub(super) notify: F,
}

impl<T, E, J, F> Classifier<T, E> for Notify<J, F>
where
    J: Classifier<T, E>,
    F: FnMut(Option<&E>, Duration),
{
    fn classify(&mut self, result: &Result<T, E>) -> Outcome {
        self.classifier.classify(result)
    }

    fn on_attempt(&mut self, attempt: &AttemptEnd<'_, T, E>) {
        self.classifier.on_attempt(attempt);
        if let NextStep::Retry(delay) = attempt.next {
            let error = attempt.result.and_then(|result| result.as_ref().err());
            (self.notify)(error, delay.to_duration());
        }
    }

    fn poll_waiting(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.classifier.poll_waiting(context)
    }
}

/// An error that knows whether trying again makes sense.
///
/// Implement it for an error type of your own and its calls need no [`when`](crate::RetryCall::when).
///
/// ```
/// use stagger::{Classify, Outcome, Verdict};
/// enum LockError { Busy, Gone }
/// impl Classify for LockError {
///     fn classify(&self) -> Outcome {
///         Outcome::new(match self {
///             LockError::Busy => Verdict::Transient,
///             LockError::Gone => Verdict::Permanent,
///         })
///     }
/// }
/// assert_eq!(LockError::Busy.classify().verdict, Verdict::Transient);
/// # let _ = LockError::Gone;
/// ```
///
/// A call whose errors nothing classifies does not compile:
///
/// ```compile_fail,E0277
/// let answer = stagger::retry_blocking(|| Err::<(), _>("busy")).call();
/// ```
#[diagnostic::on_unimplemented(
    message = "nothing says which `{Self}` are worth another attempt",
    note = "say it for this call: `.when(|error| ..)` or `.classify(|error| ..)`",
    note = "or for the type: `impl stagger::Classify for {Self}`"
)]
pub trait Classify {
    /// Classifies the attempt that ended with this error.
    fn classify(&self) -> Outcome;
}

impl Classify for io::Error {
    /// By the kind of the first I/O error in the chain that tells; an error that tells nothing is
    /// permanent.
    fn classify(&self) -> Outcome {
        classify_error(self, &TransportRules::default()).unwrap_or(UNKNOWN)
    }
}

impl Classify for Box<dyn std::error::Error + Send + Sync> {
    /// As the I/O error in its chain; an error that has none is permanent.
    fn classify(&self) -> Outcome {
        classify_error(&**self, &TransportRules::default()).unwrap_or(UNKNOWN)
    }
}

/// An attempt that ran out of its time.
pub(crate) const TIMED_OUT: Outcome = Outcome::new(Verdict::Transient).with_cause(Cause::Timeout);

/// Never retried, and no proof that the server lives.
pub(crate) const UNKNOWN: Outcome = Outcome::new(Verdict::Permanent).with_cause(Cause::Transport);
