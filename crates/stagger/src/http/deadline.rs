//! The deadline of a call, for the body that is read after the head of its reply.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use stagger_core::Instant;

use crate::Sleep;

/// The instant at which the body of a reply must have been read.
pub(crate) struct BodyDeadline<Z: Sleep> {
    time: Z,
    until: Instant,
    // Boxed, because a timer need not be `Unpin`, and few bodies wait long enough to need one.
    timer: Option<Pin<Box<Z::Timer>>>,
}

impl<Z: Sleep> BodyDeadline<Z> {
    pub(crate) const fn new(time: Z, until: Instant) -> Self {
        Self { time, until, timer: None }
    }

    /// Ready when the deadline has passed. To be polled only when the body has nothing to give: what
    /// has arrived is the caller's, however late it is read.
    pub(crate) fn poll_passed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let now = self.time.now();
            if now >= self.until {
                return Poll::Ready(());
            }
            let wait = || Box::pin(self.time.sleep(self.until - now));
            ready!(self.timer.get_or_insert_with(wait).as_mut().poll(context));
            self.timer = None;
        }
    }
}

/// The error of a body whose deadline has passed. Its kind is the one that
/// `reqwest::Error::is_timeout` looks for.
pub(crate) fn late() -> io::Error {
    let late = "the deadline of the call passed before the reply ended";
    io::Error::new(io::ErrorKind::TimedOut, late)
}
