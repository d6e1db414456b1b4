//! One call of an operation that is known: its errors are classified by closures that infer them.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::time::Duration;

use stagger_core::{Outcome, Span};

use super::{ByError, ByResult, ByType, CallReport, Notify, Retrier, RetryAfter, RetryIf};
use crate::clock::Clock;

/// One call about to be made, of an operation that is known. Awaiting it runs the operation until it succeeds or there
/// is a reason to stop; a blocking one is run by [`call`](Self::call).
///
/// Made by [`retry`](crate::retry()), [`Retryable::retry`](crate::Retryable::retry), [`Retrier::retry`] and their
/// siblings.
///
/// Dropping its future at any point ends the call: the attempt under way is dropped and stays paid, a grant that no
/// attempt has followed goes back, and the breaker counts nothing.
///
/// ```
/// # #[cfg(feature = "tokio")] fn main() -> std::io::Result<()> {
/// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?.block_on(async {
/// # struct Fault { busy: bool }
/// # impl Fault { fn is_busy(&self) -> bool { self.busy } }
/// # let answers = std::sync::Mutex::new(vec![Ok(42), Err(Fault { busy: true })]);
/// # let fetch = || { let answer = answers.lock().unwrap().pop().unwrap(); async { answer } };
/// let answer = stagger::retry(|| fetch()).when(|error| error.is_busy()).await;
/// assert_eq!(answer.ok(), Some(42));
/// # Ok(()) })}
/// # #[cfg(not(feature = "tokio"))] fn main() {}
/// ```
#[must_use = "a call does nothing until it is awaited or `call` is used"]
pub struct RetryCall<'r, D, O, T, E, J = ByType> {
    pub(super) destination: D,
    pub(super) op: O,
    pub(super) classifier: J,
    pub(super) idempotent: bool,
    pub(super) report: Option<&'r mut CallReport>,
    result: PhantomData<fn() -> (T, E)>,
}

/// The destination of a call: a [`Retrier`], or the place in the code that makes it.
pub trait Destination {
    /// The time that its calls wait by.
    type Time: Clock;
    /// The ledger of its budget and breaker.
    type Ledger;
    /// Its retrier, borrowed or shared.
    type Retrier: Deref<Target = Retrier<Self::Time, Self::Ledger>>;

    /// The retrier that makes its calls.
    fn into_retrier(self) -> Self::Retrier;
}

impl<'r, Z: Clock, L> Destination for &'r Retrier<Z, L> {
    type Time = Z;
    type Ledger = L;
    type Retrier = &'r Retrier<Z, L>;

    #[inline]
    fn into_retrier(self) -> Self {
        self
    }
}

impl<Z: Clock, L> Destination for Box<Retrier<Z, L>> {
    type Time = Z;
    type Ledger = L;
    type Retrier = Self;

    #[inline]
    fn into_retrier(self) -> Self {
        self
    }
}

impl<D, O, T, E> RetryCall<'_, D, O, T, E> {
    pub(super) const fn new(destination: D, op: O) -> Self {
        let (classifier, result) = (ByType, PhantomData);
        Self { destination, op, classifier, idempotent: true, report: None, result }
    }
}

impl<'r, D, O, T, E> RetryCall<'r, D, O, T, E> {
    /// Retries after the errors for which `worth` answers yes: they are transient, all others permanent. Without it
    /// the error type says so itself, by [`Classify`](crate::Classify).
    pub fn when<F>(self, worth: F) -> RetryCall<'r, D, O, T, E, RetryIf<F>>
    where
        F: FnMut(&E) -> bool,
    {
        self.classified_by(RetryIf(worth))
    }

    /// Classifies errors by `classifier`: verdict, hint and all.
    pub fn classify<F>(self, classifier: F) -> RetryCall<'r, D, O, T, E, ByError<F>>
    where
        F: FnMut(&E) -> Outcome,
    {
        self.classified_by(ByError(classifier))
    }

    /// Classifies results by `classifier`, `Ok` included: for replies that carry their failure in a status. When the
    /// attempts end on such an `Ok`, the call returns it as it is; a [`CallReport`] tells it from a success.
    pub fn classify_result<F>(self, classifier: F) -> RetryCall<'r, D, O, T, E, ByResult<F>>
    where
        F: FnMut(&Result<T, E>) -> Outcome,
    {
        self.classified_by(ByResult(classifier))
    }

    /// Classifies results by a [`Classifier`](crate::Classifier), such as [`HttpReplies`](crate::http::HttpReplies).
    pub fn classified_by<J>(self, classifier: J) -> RetryCall<'r, D, O, T, E, J> {
        let Self { destination, op, classifier: ByType, idempotent, report, result } = self;
        RetryCall { destination, op, classifier, idempotent, report, result }
    }
}

impl<'r, D, O, T, E, J> RetryCall<'r, D, O, T, E, J> {
    /// Obeys the delay that an error brings from the server, as far as the policy's
    /// [`HintRule`](crate::HintRule) does: the next attempt starts no sooner.
    ///
    /// ```
    /// # #[cfg(feature = "tokio")] fn main() -> std::io::Result<()> {
    /// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?.block_on(async {
    /// # use std::time::Duration;
    /// # #[derive(Debug)]
    /// struct Busy { retry_after: Option<Duration> }
    /// let start = tokio::time::Instant::now();
    /// let fetch = || async { Err::<(), _>(Busy { retry_after: Some(Duration::from_secs(7)) }) };
    /// let failed = stagger::retry(fetch).when(|_| true).retry_after(|busy| busy.retry_after).await;
    /// assert!(failed.is_err() && start.elapsed() >= Duration::from_secs(14));
    /// # Ok(()) })}
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn retry_after<F, S>(self, hint: F) -> RetryCall<'r, D, O, T, E, RetryAfter<J, F>>
    where
        F: FnMut(&E) -> Option<S>,
        S: Into<Span>,
    {
        self.classified(|classifier| RetryAfter { classifier, hint })
    }

    /// Calls `notify` before each delay, with the error and the delay; with none for an attempt that ran out of its
    /// time.
    ///
    /// ```
    /// use stagger::{Policy, Retrier};
    /// let server = Retrier::of(Policy::default());
    /// let mut heard = Vec::new();
    /// let call = server.retry_blocking(|| Err::<(), _>("busy")).when(|_| true);
    /// assert!(call.notify(|error, _delay| heard.push(error.copied())).call().is_err());
    /// assert_eq!(heard, [Some("busy"), Some("busy")]);
    /// ```
    pub fn notify<F>(self, notify: F) -> RetryCall<'r, D, O, T, E, Notify<J, F>>
    where
        F: FnMut(Option<&E>, Duration),
    {
        self.classified(|classifier| Notify { classifier, notify })
    }

    /// Marks an operation that must not be done twice: only failures that the server cannot have acted on are retried.
    /// Default: it may be done twice, because the caller said what to retry.
    ///
    /// ```
    /// use stagger::{Policy, Retrier, Stop};
    /// let server = Retrier::of(Policy::default());
    /// let payment = server.retry_blocking(|| Err::<(), _>("reset after the request was read"));
    /// let failed = payment.when(|_| true).not_idempotent().call();
    /// assert_eq!(failed.map_err(|error| error.stop()), Err(Stop::NotIdempotent));
    /// ```
    pub const fn not_idempotent(mut self) -> Self {
        self.idempotent = false;
        self
    }

    /// Fills in `report` when the call ends, on success as well as on failure.
    pub fn report<'s>(self, report: &'s mut CallReport) -> RetryCall<'s, D, O, T, E, J> {
        let Self { destination, op, classifier, idempotent, report: _, result } = self;
        RetryCall { destination, op, classifier, idempotent, report: Some(report), result }
    }

    /// The same call to another destination.
    pub(super) fn to<B>(self, change: impl FnOnce(D) -> B) -> RetryCall<'r, B, O, T, E, J> {
        let Self { destination, op, classifier, idempotent, report, result } = self;
        let destination = change(destination);
        RetryCall { destination, op, classifier, idempotent, report, result }
    }

    pub(super) fn classified<K>(self, change: impl FnOnce(J) -> K) -> RetryCall<'r, D, O, T, E, K> {
        let Self { destination, op, classifier, idempotent, report, result } = self;
        let classifier = change(classifier);
        RetryCall { destination, op, classifier, idempotent, report, result }
    }

    /// The same call of another kind of operation.
    pub(super) fn made<P>(self, change: impl FnOnce(O) -> P) -> RetryCall<'r, D, P, T, E, J> {
        let Self { destination, op, classifier, idempotent, report, result } = self;
        RetryCall { destination, op: change(op), classifier, idempotent, report, result }
    }
}

impl<D, O, T, E, J> fmt::Debug for RetryCall<'_, D, O, T, E, J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryCall").field("idempotent", &self.idempotent).finish_non_exhaustive()
    }
}
