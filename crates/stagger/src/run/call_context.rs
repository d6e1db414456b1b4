//! Calls whose attempts change a context: `Retrier::context` and what it makes.

use std::future::Future;

use super::operation::InContext;
use super::{ByType, ContextGuard, Retrier, RetryCall};

/// A call about to be made whose attempts change a context: see [`Retrier::context`] and [`context`](crate::context).
#[derive(Debug)]
#[must_use = "a context does nothing until it is given an operation"]
pub struct CallContext<D, C> {
    destination: D,
    context: C,
}

impl<D, C> CallContext<D, C> {
    pub(super) const fn new(destination: D, context: C) -> Self {
        Self { destination, context }
    }

    /// A call of `op`, whose attempts each get the context from the one before.
    pub fn retry<T, E, F, Fut>(self, op: F) -> RetryCall<'static, D, InContext<F, C>, T, E, ByType>
    where
        F: FnMut(ContextGuard<C>) -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        RetryCall::new(self.destination, InContext::new(self.context, op))
    }
}

impl<Z, L> Retrier<Z, L> {
    /// A call whose attempts change a `context`, which each hands to the next: a connection behind `&mut self`, or a
    /// buffer. The future can be spawned where the context is `Send`. The attempts find their number, and how much
    /// time is left, by [`ContextGuard::info`].
    ///
    /// An attempt hands its context on when it ends, and when its time limit drops it. One that keeps it, in a
    /// task of its own for instance, ends the call before the next attempt, with
    /// [`Stop::Cancelled`](crate::Stop::Cancelled). Costs one allocation a call. Blocking calls need no
    /// such thing: their closure may borrow what it changes.
    ///
    /// ```
    /// # #[cfg(feature = "tokio")] fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?.block_on(async {
    /// use stagger::{Policy, Retrier};
    /// struct Link { dials: u32 }
    /// impl Link {
    ///     async fn send(&mut self) -> Result<u32, &'static str> {
    ///         self.dials += 1;
    ///         if self.dials < 3 { Err("reset") } else { Ok(self.dials) }
    ///     }
    /// }
    /// let server = Retrier::of(Policy::default());
    /// let task = tokio::spawn(async move {
    ///     let mut link = Link { dials: 0 };
    ///     let call = server.context(&mut link).retry(|mut link| async move { link.send().await });
    ///     call.when(|error| *error == "reset").await
    /// });
    /// assert_eq!(task.await?, Ok(3));
    /// # Ok(()) })}
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub const fn context<C>(&self, context: C) -> CallContext<&Self, C> {
        CallContext::new(self, context)
    }
}
