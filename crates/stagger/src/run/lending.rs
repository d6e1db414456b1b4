//! Async calls of a lending closure, whose futures borrow from it and from the error before.

use std::future::Future;
use std::ops::Deref;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use stagger_core::retry::{Action, Launched, Ledger};

use super::active_call::ActiveCall;
use super::attempt_source::{AttemptEvent, AttemptSource};
use super::classifier::Classifier;
use super::classify::TIMED_OUT;
use super::nested::Inside;
use super::poll_call::{CallDriver, CallPhase};
use super::{AttemptInfo, Error, Retrier, Run};
use crate::clock::{Clock, Sleep};

impl<Z, L, J> Run<'_, Z, L, J> {
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
    pub fn run_mut<T, E, F>(self, mut op: F) -> impl Future<Output = Result<T, Error<E>>>
    where
        Z: Sleep,
        for<'l> &'l L: Ledger,
        J: Classifier<T, E>,
        F: AsyncFnMut(AttemptInfo, Option<&E>) -> Result<T, E>,
    {
        let mut driver = self.driver();
        async move {
            let mut action = None;
            loop {
                let attempt = match (LentDue { driver: &mut driver, action, lent: None }).await {
                    Ok(attempt) => attempt,
                    Err(end) => return end,
                };
                let result = {
                    let previous = driver.record.error();
                    let (call, phase) = (&mut driver.call, &mut driver.phase);
                    let attempt = pin!(op(attempt, previous));
                    LentAttempt { call, phase, attempt }.await
                };
                let ended = match result {
                    Some(result) => driver.on_result(Pin::new(&mut None), result),
                    None => Err(driver.settle(Pin::new(&mut None), None, TIMED_OUT)),
                };
                match ended {
                    Ok(value) => return Ok(value),
                    Err(next) => action = Some(next),
                }
            }
        }
    }
}

/// The place of an attempt that a lending closure is about to make: its future borrows from the call,
/// so it lives outside of its driver.
type LentPlace = Option<AttemptInfo>;

impl<T, E> AttemptSource<T, E> for LentPlace {
    fn start<C: Clock>(
        self: Pin<&mut Self>,
        attempt: AttemptInfo,
        _: Option<Launched>,
        _: &C,
    ) -> bool {
        *self.get_mut() = Some(attempt);
        true
    }

    fn poll<C: Clock>(
        self: Pin<&mut Self>,
        _: &C,
        _: &mut Context<'_>,
    ) -> Poll<AttemptEvent<T, E>> {
        Poll::Pending
    }

    fn clear(self: Pin<&mut Self>) {}
}

/// Ready with the next attempt of a lending closure, or with the end of its call.
///
/// A type with a name, as [`LentAttempt`], because nested unnamed futures that borrow are not seen to
/// be `Send` (rust-lang/rust #110338).
struct LentDue<'a, D> {
    driver: &'a mut D,
    /// The action that follows the attempt before.
    action: Option<Action<AttemptInfo>>,
    lent: LentPlace,
}

impl<R, Z, L, J, T, E> Future for LentDue<'_, CallDriver<'_, R, L, J, T, E, Z::Timer>>
where
    R: Deref<Target = Retrier<Z, L>>,
    Z: Sleep,
    for<'l> &'l L: Ledger,
    J: Classifier<T, E>,
{
    type Output = Result<AttemptInfo, Result<T, Error<E>>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { driver, action, lent } = self.get_mut();
        let mut place = Pin::new(lent);
        let done = action.take().and_then(|action| driver.act(place.as_mut(), action));
        if let Some(done) = done {
            return Poll::Ready(Err(driver.end(place, done)));
        }
        let end = ready!(driver.poll_until_attempt(place.as_mut(), context));
        Poll::Ready(match (end, *place) {
            (Some(end), _) => Err(end),
            (None, Some(attempt)) => Ok(attempt),
            (None, None) => unreachable!("a driver that attempts has started an attempt"),
        })
    }
}

/// Polls the attempt of a lending closure; `None` when its time ran out first.
struct LentAttempt<'a, R, L, W, F> {
    call: &'a mut ActiveCall<R, L>,
    phase: &'a mut CallPhase<W>,
    attempt: Pin<&'a mut F>,
}

impl<R, Z, L, F> Future for LentAttempt<'_, R, L, Z::Timer, F>
where
    R: Deref<Target = Retrier<Z, L>>,
    Z: Sleep,
    for<'l> &'l L: Ledger,
    F: Future,
{
    type Output = Option<F::Output>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { call, phase, attempt } = self.get_mut();
        let inside = Inside::enter();
        if let Poll::Ready(result) = attempt.as_mut().poll(context) {
            return Poll::Ready(Some(result));
        }
        drop(inside);
        phase.poll_limit(call, context).map(|()| None)
    }
}
