//! Hedged calls: several copies of one slow call, of which the first success wins.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use stagger_core::Instant;
use stagger_core::retry::{Launched, Ledger};

use super::attempt_source::{AttemptEvent, AttemptSource};
use super::classifier::Classifier;
use super::nested::Inside;
use super::poll_call::CallFuture;
use super::{AttemptInfo, Error, Retrier, Run};
use crate::clock::{Clock, Sleep};

impl<Z, L, J> Run<'_, Z, L, J> {
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
        self.run_hedged_with(move |_| op())
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
        let (retrier, running) = (self.retrier, Vec::new());
        let copies = HedgedCopies { retrier, op, running, due: Instant::FAR, timer: None };
        CallFuture::new(copies, self.driver())
    }
}

/// The copies of one hedged call that are under way: one owner, and one winner. Dropping them
/// abandons each: the budget keeps its charge, the breaker counts nothing.
struct HedgedCopies<'r, Z: Sleep, L, F, Fut>
where
    for<'l> &'l L: Ledger,
{
    retrier: &'r Retrier<Z, L>,
    op: F,
    running: Vec<HedgedCopy<Fut>>,
    /// The time of the next copy; [`Instant::FAR`] for none.
    due: Instant,
    timer: Option<Pin<Box<Z::Timer>>>,
}

struct HedgedCopy<Fut> {
    launched: Launched,
    since: Instant,
    /// The end of its time; [`Instant::FAR`] for no limit.
    until: Instant,
    future: Pin<Box<Fut>>,
}

// The copies are boxed, so nothing here is pinned in place.
impl<Z: Sleep, L, F, Fut> Unpin for HedgedCopies<'_, Z, L, F, Fut> where for<'l> &'l L: Ledger {}

impl<Z: Sleep, L, F, Fut, T, E> AttemptSource<T, E> for HedgedCopies<'_, Z, L, F, Fut>
where
    for<'l> &'l L: Ledger,
    F: FnMut(AttemptInfo) -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    const HEDGED: bool = true;

    fn start<C: Clock>(
        self: Pin<&mut Self>,
        attempt: AttemptInfo,
        launched: Option<Launched>,
        clock: &C,
    ) -> bool {
        let this = self.get_mut();
        let Some(launched) = launched else { return false };
        let future = Box::pin((this.op)(attempt));
        let since = clock.now();
        let until = launched.attempt.timeout.map_or(Instant::FAR, |limit| since + limit);
        this.running.push(HedgedCopy { launched, since, until, future });
        this.await_next(launched.attempt.hedge_at);
        true
    }

    /// Waits for what happens first. Of several copies that are ready, the oldest is.
    fn poll<C: Clock>(
        self: Pin<&mut Self>,
        clock: &C,
        context: &mut Context<'_>,
    ) -> Poll<AttemptEvent<T, E>> {
        let this = self.get_mut();
        loop {
            if let Some(event) = this.poll_each(context) {
                return Poll::Ready(event);
            }
            let first = this.running.iter().map(|copy| copy.until).fold(this.due, Instant::min);
            if first == Instant::FAR {
                return Poll::Pending;
            }
            let now = clock.now();
            if now >= first {
                return Poll::Ready(this.expired(now).unwrap_or(AttemptEvent::HedgeDue));
            }
            let wait = || Box::pin(this.retrier.time.sleep(first - now));
            match this.timer.get_or_insert_with(wait).as_mut().poll(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(()) => this.timer = None,
            }
        }
    }

    fn clear(self: Pin<&mut Self>) {
        self.get_mut().abandon();
    }

    fn await_copies(self: Pin<&mut Self>, due: Option<Instant>) {
        self.get_mut().await_next(due);
    }
}

impl<Z: Sleep, L, F, Fut> HedgedCopies<'_, Z, L, F, Fut>
where
    for<'l> &'l L: Ledger,
{
    fn await_next(&mut self, due: Option<Instant>) {
        self.due = due.unwrap_or(Instant::FAR);
        // What happens first may be sooner now, or later.
        self.timer = None;
    }

    fn poll_each<T, E>(&mut self, context: &mut Context<'_>) -> Option<AttemptEvent<T, E>>
    where
        Fut: Future<Output = Result<T, E>>,
    {
        let _inside = Inside::enter();
        for at in 0..self.running.len() {
            if let Poll::Ready(result) = self.running[at].future.as_mut().poll(context) {
                let HedgedCopy { launched, since, .. } = self.running.remove(at);
                return Some(AttemptEvent::CopyEnded(launched, since, Some(result)));
            }
        }
        None
    }

    /// Takes out a copy whose time has run out.
    fn expired<T, E>(&mut self, now: Instant) -> Option<AttemptEvent<T, E>> {
        let at = self.running.iter().position(|copy| copy.until <= now)?;
        let HedgedCopy { launched, since, .. } = self.running.remove(at);
        Some(AttemptEvent::CopyEnded(launched, since, None))
    }

    /// Drops the copies under way: the call goes on, or ends, without them.
    fn abandon(&mut self) {
        for HedgedCopy { launched, future, .. } in self.running.drain(..) {
            drop(future);
            self.retrier.abandon(self.retrier.ledger(), launched);
        }
    }
}

impl<Z: Sleep, L, F, Fut> Drop for HedgedCopies<'_, Z, L, F, Fut>
where
    for<'l> &'l L: Ledger,
{
    fn drop(&mut self) {
        self.abandon();
    }
}
