//! One call about to be made, with its classifier and its settings.

use std::future::Future;

use stagger_core::Outcome;
use stagger_core::retry::Ledger;

use super::classifier::{ByError, ByResult, ByType, Classifier, RetryIf};
use super::{
    AttemptInfo, CallReport, Cancel, ContextGuard, Error, Retrier, asynch, blocking, hedged,
};
use crate::clock::{Pause, Sleep};

/// One call of a [`Retrier`], with settings of its own.
///
/// ```
/// use stagger::{Policy, Retrier, StdTime, retry::Stop};
/// let retrier = Retrier::new(Policy::default(), StdTime);
/// let payment = retrier.retry_if(|_: &&str| true).idempotent(false);
/// let failed = payment.run_blocking(|| Err::<(), _>("reset after the request was read"));
/// assert_eq!(failed.map_err(|error| error.stop()), Err(Stop::NotIdempotent));
/// ```
#[derive(Debug)]
#[must_use = "a call does nothing until it is run"]
pub struct Run<'r, Z, L, J = ByType> {
    pub(super) retrier: &'r Retrier<Z, L>,
    pub(super) classifier: J,
    pub(super) idempotent: bool,
    pub(super) report: Option<&'r mut CallReport>,
    pub(super) cancel: Option<&'r Cancel>,
}

impl<'r, Z, L> Run<'r, Z, L> {
    pub(super) const fn new(retrier: &'r Retrier<Z, L>) -> Self {
        Self { retrier, classifier: ByType, idempotent: true, report: None, cancel: None }
    }

    /// Retries after the errors for which `worth` answers yes: they are transient, all others
    /// permanent.
    pub fn retry_if<E, F>(self, worth: F) -> Run<'r, Z, L, RetryIf<F>>
    where
        F: FnMut(&E) -> bool,
    {
        self.classified_by(RetryIf(worth))
    }

    /// Classifies errors by `classifier`: verdict, hint and all.
    pub fn classify<E, F>(self, classifier: F) -> Run<'r, Z, L, ByError<F>>
    where
        F: FnMut(&E) -> Outcome,
    {
        self.classified_by(ByError(classifier))
    }

    /// Classifies results by `classifier`, `Ok` included: for replies that carry their failure in
    /// a status. When the attempts end on such an `Ok`, the call returns it as it is; a [`CallReport`]
    /// tells it from a success.
    pub fn classify_result<T, E, F>(self, classifier: F) -> Run<'r, Z, L, ByResult<F>>
    where
        F: FnMut(&Result<T, E>) -> Outcome,
    {
        self.classified_by(ByResult(classifier))
    }

    /// Classifies results by `classifier`.
    pub fn classified_by<J>(self, classifier: J) -> Run<'r, Z, L, J> {
        let Self { retrier, classifier: ByType, idempotent, report, cancel } = self;
        Run { retrier, classifier, idempotent, report, cancel }
    }
}

impl<'r, Z, L, J> Run<'r, Z, L, J> {
    /// Whether doing it twice is the same as doing it once. Default: yes, because somebody said what
    /// to retry. When not, only failures that the server cannot have acted on are retried.
    pub const fn idempotent(mut self, yes: bool) -> Self {
        self.idempotent = yes;
        self
    }

    /// Fills in `report` when the call ends, on success as well as on failure.
    pub const fn report(mut self, report: &'r mut CallReport) -> Self {
        self.report = Some(report);
        self
    }

    /// Ends a blocking call when `cancel` is used. An async call is ended by dropping its future.
    pub const fn cancel(mut self, cancel: &'r Cancel) -> Self {
        self.cancel = Some(cancel);
        self
    }

    /// Runs `op` until it succeeds or there is a reason to stop.
    ///
    /// `op` is a closure that returns a future: `|| fetch(url)` or `async || ..`. Where its attempts
    /// change what they borrow, take [`run_mut`](Self::run_mut).
    ///
    /// Dropping the future at any point ends the call: the attempt under way is dropped and stays paid, a
    /// grant that no attempt has followed goes back, and the breaker counts nothing.
    ///
    /// # Errors
    /// When no further attempt is made; the error says why, and holds the last one of `op`.
    ///
    /// ```
    /// # #[cfg(feature = "tokio")] fn main() -> std::io::Result<()> {
    /// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?.block_on(async {
    /// use stagger::{Policy, Retrier, TokioTime, retry::Stop};
    /// let retrier = Retrier::new(Policy::default(), TokioTime);
    /// let answer = retrier.retry_if(|error: &&str| *error == "busy");
    /// let failed = answer.run(async || Err::<(), _>("busy")).await.unwrap_err();
    /// assert_eq!((failed.stop(), failed.attempts()), (Stop::AttemptsExhausted, 3));
    /// assert_eq!(failed.into_inner(), Some("busy"));
    /// # Ok(()) })}
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn run<T, E, F, Fut>(self, mut op: F) -> impl Future<Output = Result<T, Error<E>>>
    where
        Z: Sleep,
        for<'l> &'l L: Ledger,
        J: Classifier<T, E>,
        F: FnMut() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        asynch::drive(self, move |_| op())
    }

    /// The same for an `op` that wants to know which attempt it is, and how much time is left.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn run_with<T, E, F, Fut>(self, op: F) -> impl Future<Output = Result<T, Error<E>>>
    where
        Z: Sleep,
        for<'l> &'l L: Ledger,
        J: Classifier<T, E>,
        F: FnMut(AttemptInfo) -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        asynch::drive(self, op)
    }

    /// The same for an async closure whose attempts change what they borrow, and which may look at
    /// the error before.
    ///
    /// A spawned task cannot make a call whose closure borrows what the task borrows: the compiler does not
    /// see that a future which borrows twice over is `Send` (rust-lang/rust #110338). Take
    /// [`run_with_context`](Self::run_with_context) there.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    ///
    /// ```
    /// # #[cfg(feature = "tokio")] fn main() -> std::io::Result<()> {
    /// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?.block_on(async {
    /// use stagger::{Policy, Retrier, TokioTime};
    /// let retrier = Retrier::new(Policy::default(), TokioTime);
    /// let mut seen = Vec::new();
    /// let answer = retrier.retry_if(|_: &u32| true).run_mut(async |attempt, previous| {
    ///     seen.push(previous.copied());
    ///     if attempt.number < 3 { Err(attempt.number) } else { Ok("done") }
    /// });
    /// assert_eq!(answer.await, Ok("done"));
    /// assert_eq!(seen, [None, Some(1), Some(2)]);
    /// # Ok(()) })}
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn run_mut<T, E, F>(self, op: F) -> impl Future<Output = Result<T, Error<E>>>
    where
        Z: Sleep,
        for<'l> &'l L: Ledger,
        J: Classifier<T, E>,
        F: AsyncFnMut(AttemptInfo, Option<&E>) -> Result<T, E>,
    {
        asynch::drive_lending(self, op)
    }

    /// The same for attempts that change a `context`, which each hands to the next: a connection behind
    /// `&mut self`, or a buffer. The future can be spawned where the context is `Send`, which that of
    /// [`run_mut`](Self::run_mut) often cannot.
    ///
    /// An attempt hands its context on when it ends, and when its time limit drops it. One that keeps it, in a
    /// task of its own for instance, ends the call before the next attempt, with
    /// [`Stop::Cancelled`](crate::retry::Stop::Cancelled). Costs one allocation a call. Blocking calls need no
    /// such thing: the closure of [`run_blocking`](Self::run_blocking) may borrow what it changes.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    ///
    /// ```
    /// # #[cfg(feature = "tokio")] fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?.block_on(async {
    /// use stagger::{Policy, Retrier, TokioTime};
    /// struct Link { dials: u32 }
    /// impl Link {
    ///     async fn send(&mut self) -> Result<u32, &'static str> {
    ///         self.dials += 1;
    ///         if self.dials < 3 { Err("reset") } else { Ok(self.dials) }
    ///     }
    ///     async fn call(&mut self) -> Option<u32> {
    ///         let retrier = Retrier::new(Policy::default(), TokioTime);
    ///         let call = retrier.retry_if(|error: &&str| *error == "reset");
    ///         call.run_with_context(self, |_, mut link| async move { link.send().await }).await.ok()
    ///     }
    /// }
    /// let spawned = tokio::spawn(async { Link { dials: 0 }.call().await });
    /// assert_eq!(spawned.await?, Some(3));
    /// # Ok(()) })}
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn run_with_context<C, T, E, F, Fut>(
        self,
        context: C,
        op: F,
    ) -> impl Future<Output = Result<T, Error<E>>>
    where
        Z: Sleep,
        for<'l> &'l L: Ledger,
        J: Classifier<T, E>,
        F: FnMut(AttemptInfo, ContextGuard<C>) -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        asynch::drive_with_context(self, context, op)
    }

    /// Runs `op` with further copies while it is slow, as the policy's hedge plan says: the first
    /// success wins and the others are dropped. Every copy is paid from budget and breaker. Without a
    /// hedge plan, or when the call is not idempotent, there is one copy at a time.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn run_hedged<T, E, F, Fut>(self, mut op: F) -> impl Future<Output = Result<T, Error<E>>>
    where
        Z: Sleep,
        for<'l> &'l L: Ledger,
        J: Classifier<T, E>,
        F: FnMut() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        hedged::drive(self, move |_| op())
    }

    /// The same for an `op` that wants to know which copy it is, and how much time is left.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn run_hedged_with<T, E, F, Fut>(self, op: F) -> impl Future<Output = Result<T, Error<E>>>
    where
        Z: Sleep,
        for<'l> &'l L: Ledger,
        J: Classifier<T, E>,
        F: FnMut(AttemptInfo) -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        hedged::drive(self, op)
    }

    /// Runs `op` on this thread until it succeeds or there is a reason to stop.
    ///
    /// Nothing can interrupt an attempt: the time limit is in its [`AttemptInfo`] for `op` to obey.
    ///
    /// # Errors
    /// As for [`run`](Self::run); also when cancelled.
    pub fn run_blocking<T, E, F>(self, mut op: F) -> Result<T, Error<E>>
    where
        Z: Pause,
        for<'l> &'l L: Ledger,
        J: Classifier<T, E>,
        F: FnMut() -> Result<T, E>,
    {
        blocking::drive(self, |_, _| op())
    }

    /// The same for an `op` that wants to know which attempt it is, and what the error before was.
    ///
    /// # Errors
    /// As for [`run_blocking`](Self::run_blocking).
    pub fn run_blocking_with<T, E, F>(self, op: F) -> Result<T, Error<E>>
    where
        Z: Pause,
        for<'l> &'l L: Ledger,
        J: Classifier<T, E>,
        F: FnMut(AttemptInfo, Option<&E>) -> Result<T, E>,
    {
        blocking::drive(self, op)
    }
}
