//! The copies of one hedged call that are under way: one owner, and one winner.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use stagger_core::Instant;
use stagger_core::retry::{Launched, Ledger};

use super::Retrier;
use super::nested::Inside;
use crate::clock::Sleep;

/// Copies under way. Dropping them abandons each: the budget keeps its charge, the breaker counts
/// nothing.
pub(super) struct Copies<'r, Z: Sleep, L, F>
where
    for<'l> &'l L: Ledger,
{
    retrier: &'r Retrier<Z, L>,
    running: Vec<Copy<F>>,
}

struct Copy<F> {
    launched: Launched,
    since: Instant,
    /// The end of its time; [`Instant::FAR`] for no limit.
    until: Instant,
    future: Pin<Box<F>>,
}

/// The first event.
pub(super) enum CopyEvent<R> {
    /// A copy that was launched at this instant settled; without a result when its time ran out.
    Settled(Launched, Instant, Option<R>),
    /// A further copy is due.
    Due,
}

impl<'r, Z: Sleep, L, F: Future> Copies<'r, Z, L, F>
where
    for<'l> &'l L: Ledger,
{
    pub(super) const fn new(retrier: &'r Retrier<Z, L>) -> Self {
        Self { retrier, running: Vec::new() }
    }

    pub(super) fn launch(&mut self, launched: Launched, future: F) {
        let since = self.retrier.time.now();
        let until = launched.attempt.timeout.map_or(Instant::FAR, |limit| since + limit);
        self.running.push(Copy { launched, since, until, future: Box::pin(future) });
    }

    /// Waits for what happens first; a further copy is due at `due`.
    pub(super) fn event(&mut self, due: Option<Instant>) -> NextEvent<'_, 'r, Z, L, F> {
        NextEvent { copies: self, due: due.unwrap_or(Instant::FAR), timer: None }
    }

    /// The first copy that is ready, the oldest first.
    fn poll_each(&mut self, context: &mut Context<'_>) -> Option<CopyEvent<F::Output>> {
        let _inside = Inside::enter();
        for at in 0..self.running.len() {
            if let Poll::Ready(result) = self.running[at].future.as_mut().poll(context) {
                let Copy { launched, since, .. } = self.running.remove(at);
                return Some(CopyEvent::Settled(launched, since, Some(result)));
            }
        }
        None
    }

    /// Takes out a copy whose time has run out.
    fn expired<R>(&mut self, now: Instant) -> Option<CopyEvent<R>> {
        let at = self.running.iter().position(|copy| copy.until <= now)?;
        let Copy { launched, since, .. } = self.running.remove(at);
        Some(CopyEvent::Settled(launched, since, None))
    }
}

impl<Z: Sleep, L, F> Copies<'_, Z, L, F>
where
    for<'l> &'l L: Ledger,
{
    /// Drops the copies under way: the call goes on, or ends, without them.
    pub(super) fn abandon(&mut self) {
        for Copy { launched, future, .. } in self.running.drain(..) {
            drop(future);
            self.retrier.abandon(self.retrier.ledger_handle(), launched);
        }
    }
}

/// The wait for what happens first. A type with a name, because nested unnamed futures that borrow
/// are not seen to be `Send` (rust-lang/rust #110338).
pub(super) struct NextEvent<'c, 'r, Z: Sleep, L, F: Future>
where
    for<'l> &'l L: Ledger,
{
    copies: &'c mut Copies<'r, Z, L, F>,
    due: Instant,
    timer: Option<Pin<Box<Z::Timer>>>,
}

impl<Z: Sleep, L, F: Future> Future for NextEvent<'_, '_, Z, L, F>
where
    for<'l> &'l L: Ledger,
{
    type Output = CopyEvent<F::Output>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { copies, due, timer } = self.get_mut();
        loop {
            if let Some(settled) = copies.poll_each(context) {
                return Poll::Ready(settled);
            }
            let first = copies.running.iter().map(|copy| copy.until).fold(*due, Instant::min);
            if first == Instant::FAR {
                return Poll::Pending;
            }
            let now = copies.retrier.time.now();
            if now >= first {
                return Poll::Ready(copies.expired(now).unwrap_or(CopyEvent::Due));
            }
            let wait = || Box::pin(copies.retrier.time.sleep(first - now));
            match timer.get_or_insert_with(wait).as_mut().poll(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(()) => *timer = None,
            }
        }
    }
}

impl<Z: Sleep, L, F> Drop for Copies<'_, Z, L, F>
where
    for<'l> &'l L: Ledger,
{
    fn drop(&mut self) {
        self.abandon();
    }
}
