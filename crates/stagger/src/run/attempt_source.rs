//! The attempts of a call, as its driver starts and polls them.

use std::pin::Pin;
use std::task::{Context, Poll};

use stagger_core::Instant;
#[cfg(feature = "tower")]
use stagger_core::Outcome;
use stagger_core::retry::{Done, Launched};

use super::AttemptInfo;
use crate::clock::Clock;

/// The attempts of one call: a closure, a service, or several copies at a time.
pub(crate) trait AttemptSource<T, E> {
    /// Whether it makes further copies of a slow attempt, and minds the time limits of its attempts.
    const HEDGED: bool = false;

    /// Starts an attempt beside those under way. Its permits are those of a hedged call only. Says
    /// whether the attempt can be made.
    fn start<C: Clock>(
        self: Pin<&mut Self>,
        attempt: AttemptInfo,
        launched: Option<Launched>,
        clock: &C,
    ) -> bool;

    /// Polls the attempts under way.
    fn poll<C: Clock>(
        self: Pin<&mut Self>,
        clock: &C,
        context: &mut Context<'_>,
    ) -> Poll<AttemptEvent<T, E>>;

    /// Drops the attempts under way.
    fn clear(self: Pin<&mut Self>);

    /// Waits for the copies under way; a further one is due then.
    fn await_copies(self: Pin<&mut Self>, due: Option<Instant>) {
        let _ = due;
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

/// An event of the attempts under way.
pub(crate) enum AttemptEvent<T, E> {
    /// The attempt ended.
    Ended(Result<T, E>),
    /// The attempt ended, or could not be made, and its source says what that means.
    #[cfg(feature = "tower")]
    Classified(Option<Result<T, E>>, Outcome),
    /// A copy that was launched at this instant ended; without a result when its time ran out.
    CopyEnded(Launched, Instant, Option<Result<T, E>>),
    /// A further copy is due.
    HedgeDue,
}
