//! Async calls: closures whose futures are the attempts of a call.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use stagger_core::Instant;
use stagger_core::retry::Ledger;

use super::active_call::ActiveCall;
use super::attempt_source::AttemptSource;
use super::classifier::Classifier;
use super::nested::Inside;
use super::operation::{Informed, Operation, Plain};
use super::poll_call::CallFuture;
use super::{AttemptInfo, Destination, Error, Retrier, RetryCall};
use crate::clock::Sleep;

impl<Z, L> Retrier<Z, L> {
    /// A call of `op`, to be told what is worth another attempt, and awaited.
    ///
    /// `op` is a closure that returns a future: `|| fetch(url)` or `async || ..`. Where its attempts change what they
    /// borrow, take [`context`](Self::context).
    ///
    /// ```
    /// # #[cfg(feature = "tokio")] fn main() -> std::io::Result<()> {
    /// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?.block_on(async {
    /// use stagger::{Policy, Retrier};
    /// struct Inventory { server: Retrier }
    /// let inventory = Inventory { server: Retrier::of(Policy::interactive()) };
    /// let call = inventory.server.retry(|| async { Err::<(), _>(503) });
    /// let failed = call.when(|status| *status == 503).await.unwrap_err();
    /// assert_eq!((failed.attempts(), failed.into_inner()), (3, Some(503)));
    /// # Ok(()) })}
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub const fn retry<T, E, F, Fut>(&self, op: F) -> RetryCall<'static, &Self, Plain<F>, T, E>
    where
        F: FnMut() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        RetryCall::new(self, Plain(op))
    }

    /// The same for an `op` that wants to know which attempt it is, and how much time is left.
    ///
    /// ```
    /// # #[cfg(feature = "tokio")] fn main() -> std::io::Result<()> {
    /// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?.block_on(async {
    /// use stagger::{Policy, Retrier};
    /// let server = Retrier::of(Policy::interactive());
    /// let call = server.retry_with(async |attempt| if attempt.number < 3 { Err("busy") } else { Ok("done") });
    /// assert_eq!(call.when(|_| true).await, Ok("done"));
    /// # Ok(()) })}
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub const fn retry_with<T, E, F, Fut>(
        &self,
        op: F,
    ) -> RetryCall<'static, &Self, Informed<F>, T, E>
    where
        F: FnMut(AttemptInfo) -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        RetryCall::new(self, Informed(op))
    }
}

/// An async call under way: the future of a [`RetryCall`]. Its parts are parameters, because a type that is found by a
/// trait is not seen to be `Send` where it borrows (rust-lang/rust #110338).
pub type RetryFuture<'r, D, O, Fut, T, E, J, W> = CallFuture<
    'r,
    ClosureAttempts<O, Fut>,
    <D as Destination>::Retrier,
    <D as Destination>::Ledger,
    J,
    T,
    E,
    W,
>;

impl<'r, D, O, T, E, J> IntoFuture for RetryCall<'r, D, O, T, E, J>
where
    D: Destination<Time: Sleep>,
    for<'l> &'l D::Ledger: Ledger,
    O: Operation<Attempt: Future<Output = Result<T, E>>>,
    J: Classifier<T, E>,
{
    type Output = Result<T, Error<E>>;
    type IntoFuture = RetryFuture<'r, D, O, O::Attempt, T, E, J, <D::Time as Sleep>::Timer>;

    #[inline]
    fn into_future(self) -> Self::IntoFuture {
        let call = ActiveCall::new(self.destination.into_retrier(), None, self.idempotent);
        CallFuture::new(ClosureAttempts::new(self.op), call, self.classifier, self.report)
    }
}

pin_project! {
    /// An operation, and the future of its attempt that is under way.
    #[derive(Debug)]
    pub struct ClosureAttempts<O, Fut> {
        op: O,
        #[pin]
        attempt: Option<Fut>,
    }
}

impl<O: Operation> ClosureAttempts<O, O::Attempt> {
    pub(super) const fn new(op: O) -> Self {
        Self { op, attempt: None }
    }
}

impl<O, T, E> AttemptSource<T, E> for ClosureAttempts<O, O::Attempt>
where
    O: Operation<Attempt: Future<Output = Result<T, E>>>,
{
    #[inline]
    fn start(
        self: Pin<&mut Self>,
        info: impl FnOnce() -> AttemptInfo,
        _: impl Fn() -> Instant,
    ) -> bool {
        let mut parts = self.project();
        parts.attempt.set(parts.op.attempt(info));
        parts.attempt.is_some()
    }

    #[inline]
    fn poll(
        self: Pin<&mut Self>,
        _: impl Fn() -> Instant,
        context: &mut Context<'_>,
    ) -> Poll<Result<T, E>> {
        let Some(attempt) = self.project().attempt.as_pin_mut() else { return Poll::Pending };
        let _inside = Inside::enter();
        attempt.poll(context)
    }

    #[inline]
    fn clear(self: Pin<&mut Self>) {
        self.project().attempt.set(None);
    }
}
