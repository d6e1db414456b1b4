//! The states of a breaker, and what a move between them looks like from outside.

use super::closed::Closed;
use super::half_open::HalfOpen;
use super::open::Open;
use super::ramp::Ramp;
use super::trip::Trip;
use crate::time::Instant;

/// The state of a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StateKind {
    /// Everybody is admitted.
    Closed,
    /// Nobody is admitted.
    Open,
    /// A few probes are admitted.
    HalfOpen,
    /// Closed again, admitting a growing share.
    Ramp,
}

/// A move that a report caused. The moves that time alone causes, open to half-open and ramp to
/// closed, happen when they are next looked at, and show in [`Breaker::state`](super::Breaker::state).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a transition is worth an event"]
pub enum Transition {
    /// To open.
    Opened {
        /// The rule that was broken.
        trip: Trip,
        /// The time at which the first probe may start.
        until: Instant,
    },
    /// To closed, with empty counters; the ramp, if there is one, ends at `ramp_ends`.
    Closed {
        /// The time from which every call is admitted again, if not immediately.
        ramp_ends: Option<Instant>,
    },
}

/// A state and its own fields.
#[derive(Clone, Debug)]
pub(super) enum BreakerState {
    Closed(Closed),
    Open(Open),
    HalfOpen(HalfOpen),
    Ramp(Ramp),
}
