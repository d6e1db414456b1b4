//! Async calls: closures whose futures are the attempts of a call.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use stagger_core::retry::{Launched, Ledger};

use super::attempt_source::{AttemptEvent, AttemptSource};
use super::classifier::Classifier;
use super::context::ContextSlot;
use super::nested::Inside;
use super::poll_call::CallFuture;
use super::{AttemptInfo, Classify, ContextGuard, Error, Retrier, Run};
use crate::clock::{Clock, Sleep};

impl<Z, L> Retrier<Z, L> {
    /// Runs `op`, whose error type says itself what is retryable; see [`Run::run`].
    ///
    /// # Errors
    /// When no further attempt is made; the error says why.
    pub fn run<T, E, F, Fut>(&self, op: F) -> impl Future<Output = Result<T, Error<E>>>
    where
        Z: Sleep,
        for<'l> &'l L: Ledger,
        E: Classify,
        F: FnMut() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        self.call().run(op)
    }
}

impl<Z, L, J> Run<'_, Z, L, J> {
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
        self.run_attempts(move |_| Some(op()))
    }

    /// The same for an `op` that wants to know which attempt it is, and how much time is left.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn run_with<T, E, F, Fut>(self, mut op: F) -> impl Future<Output = Result<T, Error<E>>>
    where
        Z: Sleep,
        for<'l> &'l L: Ledger,
        J: Classifier<T, E>,
        F: FnMut(AttemptInfo) -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        self.run_attempts(move |attempt| Some(op(attempt)))
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
        mut op: F,
    ) -> impl Future<Output = Result<T, Error<E>>>
    where
        Z: Sleep,
        for<'l> &'l L: Ledger,
        J: Classifier<T, E>,
        F: FnMut(AttemptInfo, ContextGuard<C>) -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        let slot = ContextSlot::new(context);
        self.run_attempts(move |attempt| Some(op(attempt, slot.take()?)))
    }

    /// Runs `op`, which makes the future of each attempt; none when the call must end before it.
    fn run_attempts<T, E, F, Fut>(self, op: F) -> impl Future<Output = Result<T, Error<E>>>
    where
        Z: Sleep,
        for<'l> &'l L: Ledger,
        J: Classifier<T, E>,
        F: FnMut(AttemptInfo) -> Option<Fut>,
        Fut: Future<Output = Result<T, E>>,
    {
        CallFuture::new(ClosureAttempts { op, attempt: None }, self.driver())
    }
}

pin_project! {
    /// A closure, and the future of its attempt that is under way.
    struct ClosureAttempts<F, Fut> {
        op: F,
        #[pin]
        attempt: Option<Fut>,
    }
}

impl<F, Fut, T, E> AttemptSource<T, E> for ClosureAttempts<F, Fut>
where
    F: FnMut(AttemptInfo) -> Option<Fut>,
    Fut: Future<Output = Result<T, E>>,
{
    #[inline]
    fn start<C: Clock>(
        self: Pin<&mut Self>,
        attempt: AttemptInfo,
        _: Option<Launched>,
        _: &C,
    ) -> bool {
        let mut parts = self.project();
        parts.attempt.set((parts.op)(attempt));
        parts.attempt.is_some()
    }

    #[inline]
    fn poll<C: Clock>(
        self: Pin<&mut Self>,
        _: &C,
        context: &mut Context<'_>,
    ) -> Poll<AttemptEvent<T, E>> {
        let Some(attempt) = self.project().attempt.as_pin_mut() else { return Poll::Pending };
        let _inside = Inside::enter();
        attempt.poll(context).map(AttemptEvent::Ended)
    }

    #[inline]
    fn clear(self: Pin<&mut Self>) {
        self.project().attempt.set(None);
    }
}
