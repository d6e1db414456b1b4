//! A batch as one call: each round is an attempt.

use std::convert::Infallible;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use stagger_core::retry::{Done, Ledger};
use stagger_core::{Instant, Outcome};

use super::Batch;
use super::pending::{Answers, Pending};
use crate::cancel::Cancel;
use crate::clock::{Pause, Sleep};
use crate::run::active_call::ActiveCall;
use crate::run::attempt_source::AttemptSource;
use crate::run::blocking::drive_blocking;
use crate::run::blocking_driver::BlockingDriver;
use crate::run::classifier::Classifier;
use crate::run::nested::Inside;
use crate::run::poll_call::CallFuture;
use crate::run::{AttemptInfo, CallReport, Destination, Error, Retrier, RetryCall};

/// The items of a batch, and the operation that sends what is left of them.
#[derive(Debug)]
pub struct Batched<I, F> {
    items: Vec<I>,
    op: F,
}

/// The same on the caller's thread, and the handle that ends it early.
#[derive(Debug)]
pub struct BlockingBatch<I, F> {
    items: Vec<I>,
    op: F,
    cancel: Option<Cancel>,
}

impl<Z, L> Retrier<Z, L> {
    /// Sends `items` together, and again those that are left, until none is or there is a reason to stop. Awaiting the
    /// call gives a [`Batch`].
    ///
    /// `op` gets the items that are left and answers for each of them, in their order, or with one
    /// error for all. Only items whose error is worth another attempt are sent again, after the
    /// policy's delay; items that the answer does not speak of are left. Rounds that did nothing
    /// count against the policy's attempts; deadline, budget and breaker hold for every round.
    ///
    /// Where the call is [not idempotent](RetryCall::not_idempotent), an item that may have been done is handed back
    /// and not sent again.
    ///
    /// ```
    /// # #[cfg(feature = "tokio")] fn main() -> std::io::Result<()> {
    /// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?.block_on(async {
    /// use stagger::{Policy, Retrier};
    /// let table = Retrier::of(Policy::default());
    /// // It takes ten items at a time, and leaves the others.
    /// let batch = table.batch((0..25).collect(), async |items: Vec<u32>| {
    ///     Ok(items.into_iter().enumerate().map(|(at, n)| if at < 10 { Ok(n) } else { Err("unprocessed") }).collect())
    /// });
    /// let batch = batch.when(|_| true).await;
    /// assert!(batch.is_complete());
    /// assert_eq!((batch.done.len(), batch.rounds), (25, 3));
    /// # Ok(()) })}
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub const fn batch<I, T, E, F, Fut>(
        &self,
        items: Vec<I>,
        op: F,
    ) -> RetryCall<'static, &Self, Batched<I, F>, T, E>
    where
        F: FnMut(Vec<I>) -> Fut,
        Fut: Future<Output = Answers<T, E>>,
    {
        RetryCall::new(self, Batched { items, op })
    }

    /// The same on this thread, with an `op` that borrows the items; run by [`call`](RetryCall::call).
    pub const fn batch_blocking<I, T, E, F>(
        &self,
        items: Vec<I>,
        op: F,
    ) -> RetryCall<'static, &Self, BlockingBatch<I, F>, T, E>
    where
        F: FnMut(&[I]) -> Answers<T, E>,
    {
        RetryCall::new(self, BlockingBatch { items, op, cancel: None })
    }
}

impl<D, I, F, T, E, J> RetryCall<'_, D, BlockingBatch<I, F>, T, E, J> {
    /// Ends the batch when `cancel` is used.
    pub fn cancel(mut self, cancel: &Cancel) -> Self {
        self.op.cancel = Some(cancel.clone());
        self
    }

    /// Runs the batch on this thread until no item is left or there is a reason to stop.
    pub fn call(self) -> Batch<I, T, E>
    where
        D: Destination<Time: Pause>,
        for<'l> &'l D::Ledger: Ledger,
        F: FnMut(&[I]) -> Answers<T, E>,
        J: Classifier<T, E>,
    {
        let BlockingBatch { items, mut op, cancel } = self.op;
        let mut pending = Pending::new(items, self.classifier, self.idempotent);
        let mut report = CallReport::default();
        if !pending.items.is_empty() {
            let call = ActiveCall::new(self.destination.into_retrier(), None, self.idempotent);
            let driver = BlockingDriver::new(call, Some(&mut report), cancel.as_ref());
            let round = |_: &dyn Fn() -> AttemptInfo, _: Option<&Infallible>| {
                let answers = op(pending.begin());
                Ok(BatchRound { outcome: pending.settle(answers), done: None })
            };
            // The end is in the report.
            let _: Result<_, Error<_>> = drive_blocking(driver, ByRound, round);
        }
        let batch = pending.end(report.done());
        if let Some(user) = self.report {
            *user = report;
        }
        batch
    }
}

/// The end of a round that was answered, and of the batch where that was the last one.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct BatchRound {
    outcome: Outcome,
    done: Option<Done>,
}

/// Classifies rounds by the outcome that they return.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct ByRound;

impl Classifier<BatchRound, Infallible> for ByRound {
    fn classify(&mut self, round: &Result<BatchRound, Infallible>) -> Outcome {
        match round {
            Ok(round) => round.outcome,
            Err(never) => match *never {},
        }
    }
}

pin_project! {
    /// The rounds of an async batch.
    pub struct BatchRounds<I, T, E, J, F, Fut> {
        pending: Pending<I, T, E, J>,
        op: F,
        #[pin]
        round: Option<Fut>,
    }
}

impl<I, T, E, J, F, Fut> AttemptSource<BatchRound, Infallible> for BatchRounds<I, T, E, J, F, Fut>
where
    I: Clone,
    J: Classifier<T, E>,
    F: FnMut(Vec<I>) -> Fut,
    Fut: Future<Output = Answers<T, E>>,
{
    const TIMED: bool = true;
    const REPLIES: bool = true;
    const NOTES_END: bool = true;

    fn start(
        self: Pin<&mut Self>,
        _: impl FnOnce() -> AttemptInfo,
        _: impl Fn() -> Instant,
    ) -> bool {
        let mut parts = self.project();
        let items = parts.pending.begin().to_vec();
        parts.round.set(Some((parts.op)(items)));
        true
    }

    fn poll(
        self: Pin<&mut Self>,
        _: impl Fn() -> Instant,
        context: &mut Context<'_>,
    ) -> Poll<Result<BatchRound, Infallible>> {
        let parts = self.project();
        let Some(round) = parts.round.as_pin_mut() else { return Poll::Pending };
        let inside = Inside::enter();
        let answers = ready!(round.poll(context));
        drop(inside);
        let outcome = parts.pending.settle(answers);
        Poll::Ready(Ok(BatchRound { outcome, done: None }))
    }

    fn clear(self: Pin<&mut Self>) {
        self.project().round.set(None);
    }

    fn explain(&self, round: &mut BatchRound, done: Done) {
        round.done = Some(done);
    }
}

pin_project! {
    /// An async batch under way.
    pub struct BatchFuture<C> {
        #[pin]
        call: C,
    }
}

/// The rounds of a batch, and their driver; see [`RetryFuture`](crate::RetryFuture) for the parameters.
type BatchCall<'r, D, I, F, Fut, T, E, J, W> = BatchFuture<
    CallFuture<
        'r,
        BatchRounds<I, T, E, J, F, Fut>,
        <D as Destination>::Retrier,
        <D as Destination>::Ledger,
        ByRound,
        BatchRound,
        Infallible,
        W,
    >,
>;

impl<'r, D, I, F, Fut, T, E, J> IntoFuture for RetryCall<'r, D, Batched<I, F>, T, E, J>
where
    D: Destination<Time: Sleep>,
    for<'l> &'l D::Ledger: Ledger,
    I: Clone,
    F: FnMut(Vec<I>) -> Fut,
    Fut: Future<Output = Answers<T, E>>,
    J: Classifier<T, E>,
{
    type Output = Batch<I, T, E>;
    type IntoFuture = BatchCall<'r, D, I, F, Fut, T, E, J, <D::Time as Sleep>::Timer>;

    fn into_future(self) -> Self::IntoFuture {
        let Batched { items, op } = self.op;
        let pending = Pending::new(items, self.classifier, self.idempotent);
        let rounds = BatchRounds { pending, op, round: None };
        let call = ActiveCall::new(self.destination.into_retrier(), None, self.idempotent);
        BatchFuture { call: CallFuture::new(rounds, call, ByRound, self.report) }
    }
}

/// A call of [`BatchRounds`].
type RoundsCall<'r, I, T, E, J, F, Fut, R, L, W> =
    CallFuture<'r, BatchRounds<I, T, E, J, F, Fut>, R, L, ByRound, BatchRound, Infallible, W>;

impl<'r, I, T, E, J, F, Fut, R, L, W> Future
    for BatchFuture<RoundsCall<'r, I, T, E, J, F, Fut, R, L, W>>
where
    RoundsCall<'r, I, T, E, J, F, Fut, R, L, W>:
        Future<Output = Result<BatchRound, Error<Infallible>>>,
    J: Classifier<T, E>,
{
    type Output = Batch<I, T, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut call = self.project().call;
        let done = if call.as_mut().attempts().project().pending.items.is_empty() {
            None
        } else {
            ready!(call.as_mut().poll(context)).map_or_else(|e| Some(e.done()), |round| round.done)
        };
        Poll::Ready(call.attempts().project().pending.end(done))
    }
}

impl<C> fmt::Debug for BatchFuture<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchFuture").finish_non_exhaustive()
    }
}
