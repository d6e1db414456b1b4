//! The attempts of a call, as its driver starts and polls them.

use std::pin::Pin;
use std::task::{Context, Poll};

use stagger_core::retry::Done;
use stagger_core::{Instant, Outcome};

use super::AttemptInfo;

/// The attempts of one call, one at a time: a closure, or a service.
pub(crate) trait AttemptSource<T, E> {
    /// Whether the start of the call must be known exactly, because its end tells how long it took.
    const TIMED: bool = false;

    /// Whether its replies may be failures: it reads them, and notes the end of the call in them. If not, only what every
    /// source has is ever called.
    const REPLIES: bool = false;

    /// Whether its last reply notes the end of the call even where it is a success.
    const NOTES_END: bool = false;

    /// Starts an attempt; `info` says which one it is, and `now` reads the clock. Says whether it can be made.
    fn start(
        self: Pin<&mut Self>,
        info: impl FnOnce() -> AttemptInfo,
        now: impl Fn() -> Instant,
    ) -> bool;

    /// Polls the attempt under way; `now` reads the clock.
    fn poll(
        self: Pin<&mut Self>,
        now: impl Fn() -> Instant,
        context: &mut Context<'_>,
    ) -> Poll<Result<T, E>>;

    /// Drops the attempt under way.
    fn clear(self: Pin<&mut Self>);

    /// The outcome of the attempt just polled, where its source knows it and the classifier does not: it ended in an
    /// error, or it could not be made and is pending.
    fn known_outcome(&self) -> Option<Outcome> {
        None
    }

    /// A wait begins, after which another attempt follows.
    fn before_wait(self: Pin<&mut Self>) {}

    /// Polled during the wait, with the reply that the last attempt ended with, if it was one.
    fn while_waiting(self: Pin<&mut Self>, reply: Option<&mut T>, context: &mut Context<'_>) {
        let _ = (reply, context);
    }

    /// Whether one more attempt could send equal bytes.
    fn is_replayable(&self) -> bool {
        true
    }

    /// Notes the end of the call in the reply that it ends with.
    fn explain(&self, reply: &mut T, done: Done) {
        let _ = (reply, done);
    }
}
