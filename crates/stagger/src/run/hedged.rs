//! Hedged calls: several copies of one slow call, of which the first success wins.

use std::fmt;
use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use stagger_core::Instant;
use stagger_core::retry::{Launched, Ledger};

use super::nested::Inside;
use super::operation::{Independent, Operation};
use super::{AttemptInfo, Retrier, RetryCall};
use crate::clock::{Clock, Sleep};

/// An operation that gets further copies while it is slow: see [`RetryCall::hedged`].
#[derive(Clone, Copy, Debug)]
pub struct Hedged<O>(pub(super) O);

impl<'r, D, O: Independent, T, E, J> RetryCall<'r, D, O, T, E, J> {
    /// Makes further copies of the operation while it is slow, as the policy's hedge plan says: the first success wins
    /// and the others are dropped. Every copy is paid from budget and breaker. Without a hedge plan, or when the call
    /// is not idempotent, there is one copy at a time.
    ///
    /// ```
    /// # #[cfg(feature = "tokio")] fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?.block_on(async {
    /// use stagger::{hedge::HedgePlan, Policy, Retrier};
    /// use std::{future::pending, time::Duration};
    /// let policy = Policy::builder().hedge(HedgePlan::fixed(Duration::from_millis(50), 2)?).build()?;
    /// let server = Retrier::of(policy);
    /// let call = server.retry_with(async |copy| if copy.number == 1 { pending().await } else { Ok(copy.number) });
    /// assert_eq!(call.when(|_: &()| true).hedged().await, Ok(2));
    /// # Ok(()) })}
    /// # #[cfg(not(feature = "tokio"))] fn main() {}
    /// ```
    pub fn hedged(self) -> RetryCall<'r, D, Hedged<O>, T, E, J> {
        self.made(Hedged)
    }
}

pin_project! {
    /// The copies of one hedged call that are under way: one owner, and one winner. Dropping them
    /// abandons each: the budget keeps its charge, the breaker counts nothing.
    #[doc(hidden)]
    pub struct HedgedCopies<R, O, Fut, W> {
        retrier: R,
        op: O,
        // Nearly every call ends with its first copy, so that one is kept in place.
        first: Option<HedgedCopy>,
        #[pin]
        first_future: Option<Fut>,
        further: Vec<(HedgedCopy, Pin<Box<Fut>>)>,
        // The time of the next copy; `Instant::FAR` for none.
        due: Instant,
        #[pin]
        timer: Option<W>,
        // Gives up a copy. Known from the start, so that dropping has no bounds: pin-project-lite could not.
        give_up: fn(&R, Launched),
    }

    impl<R, O, Fut, W> PinnedDrop for HedgedCopies<R, O, Fut, W> {
        fn drop(this: Pin<&mut Self>) {
            this.abandon();
        }
    }
}

/// One copy under way.
#[derive(Clone, Copy)]
struct HedgedCopy {
    launched: Launched,
    since: Instant,
    /// The end of its time; [`Instant::FAR`] for no limit.
    until: Instant,
}

/// An event of the copies under way.
pub(super) enum CopyEvent<T, E> {
    /// A copy that was launched at this instant ended; without a result when its time ran out.
    Ended(Launched, Instant, Option<Result<T, E>>),
    /// A further copy is due.
    HedgeDue,
}

impl<R, Z, L, O, T, E> HedgedCopies<R, O, O::Attempt, Z::Timer>
where
    R: Deref<Target = Retrier<Z, L>>,
    Z: Sleep,
    for<'l> &'l L: Ledger,
    O: Operation<Attempt: Future<Output = Result<T, E>>>,
{
    /// Starts a copy beside those under way, with its permits. Says whether it can be made.
    pub(super) fn start(
        mut self: Pin<&mut Self>,
        info: AttemptInfo,
        launched: Option<Launched>,
        clock: &Z,
    ) -> bool {
        let mut this = self.as_mut().project();
        let (Some(launched), Some(future)) = (launched, this.op.attempt(|| info)) else {
            return false;
        };
        let since = clock.now();
        let until = launched.attempt.timeout.map_or(Instant::FAR, |limit| since + limit);
        let copy = HedgedCopy { launched, since, until };
        if this.first.is_none() && this.further.is_empty() {
            *this.first = Some(copy);
            this.first_future.set(Some(future));
        } else {
            this.further.push((copy, Box::pin(future)));
        }
        self.await_next(launched.attempt.hedge_at);
        true
    }

    /// Waits for what happens first. Of several copies that are ready, the oldest is.
    pub(super) fn poll(
        mut self: Pin<&mut Self>,
        clock: &Z,
        context: &mut Context<'_>,
    ) -> Poll<CopyEvent<T, E>> {
        loop {
            if let Some(event) = self.as_mut().poll_each(context) {
                return Poll::Ready(event);
            }
            let first = self.copies().map(|copy| copy.until).fold(self.due, Instant::min);
            if first == Instant::FAR {
                return Poll::Pending;
            }
            let now = clock.now();
            if now >= first {
                let expired = self.as_mut().expired(now);
                return Poll::Ready(expired.unwrap_or(CopyEvent::HedgeDue));
            }
            let mut this = self.as_mut().project();
            if this.timer.is_none() {
                this.timer.set(Some(this.retrier.time.sleep(first - now)));
            }
            let timer = this.timer.as_mut().as_pin_mut();
            match timer.map(|timer| timer.poll(context)) {
                Some(Poll::Pending) => return Poll::Pending,
                Some(Poll::Ready(())) | None => this.timer.set(None),
            }
        }
    }
}

impl<R, O, Fut, W> HedgedCopies<R, O, Fut, W> {
    pub(super) fn new<Z, L>(retrier: R, op: O) -> Self
    where
        R: Deref<Target = Retrier<Z, L>>,
        Z: Clock,
        for<'l> &'l L: Ledger,
    {
        Self {
            retrier,
            op,
            first: None,
            first_future: None,
            further: Vec::new(),
            due: Instant::FAR,
            timer: None,
            give_up: |retrier: &R, launched| retrier.abandon(retrier.ledger(), launched),
        }
    }

    /// The copies under way, the oldest first.
    fn copies(&self) -> impl Iterator<Item = &HedgedCopy> {
        self.first.iter().chain(self.further.iter().map(|(copy, _)| copy))
    }

    /// Waits for the copies under way; a further one is due then.
    pub(super) fn await_next(self: Pin<&mut Self>, due: Option<Instant>) {
        let mut this = self.project();
        *this.due = due.unwrap_or(Instant::FAR);
        // What happens first may be sooner now, or later.
        this.timer.set(None);
    }

    fn poll_each<T, E>(self: Pin<&mut Self>, context: &mut Context<'_>) -> Option<CopyEvent<T, E>>
    where
        Fut: Future<Output = Result<T, E>>,
    {
        let _inside = Inside::enter();
        let mut this = self.project();
        let first = this.first_future.as_mut().as_pin_mut();
        if let Some(Poll::Ready(result)) = first.map(|future| future.poll(context)) {
            this.first_future.set(None);
            return this.first.take().map(|copy| copy.ended(Some(result)));
        }
        for at in 0..this.further.len() {
            if let Poll::Ready(result) = this.further[at].1.as_mut().poll(context) {
                return Some(this.further.remove(at).0.ended(Some(result)));
            }
        }
        None
    }

    /// Takes out a copy whose time has run out.
    fn expired<T, E>(self: Pin<&mut Self>, now: Instant) -> Option<CopyEvent<T, E>> {
        let mut this = self.project();
        if this.first.is_some_and(|copy| copy.until <= now) {
            this.first_future.set(None);
            return this.first.take().map(|copy| copy.ended(None));
        }
        let at = this.further.iter().position(|(copy, _)| copy.until <= now)?;
        Some(this.further.remove(at).0.ended(None))
    }

    /// Drops the copies under way: the call goes on, or ends, without them.
    pub(super) fn abandon(self: Pin<&mut Self>) {
        let mut this = self.project();
        if let Some(copy) = this.first.take() {
            this.first_future.set(None);
            (this.give_up)(this.retrier, copy.launched);
        }
        for (copy, future) in this.further.drain(..) {
            drop(future);
            (this.give_up)(this.retrier, copy.launched);
        }
    }
}

impl HedgedCopy {
    const fn ended<T, E>(self, result: Option<Result<T, E>>) -> CopyEvent<T, E> {
        CopyEvent::Ended(self.launched, self.since, result)
    }
}

impl<R, O, Fut, W> fmt::Debug for HedgedCopies<R, O, Fut, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HedgedCopies").finish_non_exhaustive()
    }
}
