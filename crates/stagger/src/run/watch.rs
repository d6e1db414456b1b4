//! One attempt being polled: under the mark of a running attempt, and against its time limit.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use stagger_core::retry::Ledger;

use super::call_guard::CallGuard;
use super::nested::Inside;
use crate::clock::Sleep;

/// Polls an attempt; `None` when its time ran out first.
///
/// A type with a name, because nested unnamed futures that borrow are not seen to be `Send`
/// (rust-lang/rust #110338).
pub(super) struct Watch<'a, 'r, Z: Sleep, L, F>
where
    for<'l> &'l L: Ledger,
{
    guard: &'a mut CallGuard<'r, Z, L>,
    attempt: Pin<&'a mut F>,
    /// Made when the attempt turns out to take time.
    timer: Option<Pin<Box<Z::Timer>>>,
}

impl<'a, 'r, Z: Sleep, L, F> Watch<'a, 'r, Z, L, F>
where
    for<'l> &'l L: Ledger,
{
    pub(super) const fn new(guard: &'a mut CallGuard<'r, Z, L>, attempt: Pin<&'a mut F>) -> Self {
        Self { guard, attempt, timer: None }
    }
}

impl<Z: Sleep, L, F: Future> Future for Watch<'_, '_, Z, L, F>
where
    for<'l> &'l L: Ledger,
{
    type Output = Option<F::Output>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { guard, attempt, timer } = self.get_mut();
        let inside = Inside::enter();
        if let Poll::Ready(result) = attempt.as_mut().poll(context) {
            return Poll::Ready(Some(result));
        }
        drop(inside);
        if timer.is_none() {
            *timer = guard.pending();
        }
        match timer {
            Some(timer) => timer.as_mut().poll(context).map(|()| None),
            None => Poll::Pending,
        }
    }
}
