//! The next action of a call, the questions of the machine, and the attempts.

use super::Done;
use crate::breaker::Ticket;
use crate::budget::{Charge, Paid};
use crate::outcome::Remedy;
use crate::time::{Instant, Span};

/// The next action of a call's driver. `A` is the attempt: with its permits for a
/// [`Session`](super::Session), without any for a [`Retry`](super::Retry).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the engine only decides; its driver acts"]
pub enum Action<A = Launched> {
    /// Make this attempt, and report its outcome to `on_outcome`.
    Attempt(A),
    /// Make this further copy beside those under way.
    Hedge(A),
    /// Wait, and then call `on_wake`.
    Wait(Wait),
    /// Return to the caller.
    Done(Done),
}

/// The next step of the machine: a question, or an action of its driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the machine only decides; its driver acts"]
pub enum Step {
    /// Ask for a permit, and report the answer to `on_permit`.
    Ask(Ask),
    /// Act.
    Act(Action<Attempt>),
}

/// The party that is asked for a permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// The destination's budget. A grant that no attempt follows is refunded by the driver.
    Budget(Charge),
    /// The destination's breaker, its limits, and its pause where hints are for all calls to it.
    Breaker,
}

/// The answer to an [`Ask`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permit {
    /// Go ahead.
    Granted,
    /// No.
    Refused,
    /// No, and asking again makes sense at this instant.
    RefusedUntil(Instant),
    /// The destination asks its callers to stay away until this instant.
    HeldUntil(Instant),
    /// A limit lets the attempt start at this instant, and not before.
    PacedUntil(Instant),
    /// The adaptive limit refuses the attempt.
    Throttled,
    /// The attempt waits for a place by the concurrency limit, until this instant at the latest.
    QueuedUntil(Instant),
    /// The concurrency limit refuses the attempt.
    Full,
    /// The rate limit refuses the attempt.
    RateLimited,
}

/// The reason for a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// The delay ends at this instant.
    Until(Instant),
    /// Copies are under way. Wake the machine when the next one is due, if one is.
    Copies {
        /// The due time of the next copy.
        hedge_at: Option<Instant>,
    },
}

/// One attempt to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attempt {
    /// Its number, from 1. A transparent re-send keeps the number of the attempt it repeats.
    pub number: u32,
    /// The attempt's time limit: the policy's, or the rest of the deadline if that is shorter.
    pub timeout: Option<Span>,
    /// The change that this attempt makes, because the last outcome asked for it.
    pub remedy: Option<Remedy>,
    /// The time at which the driver wakes the machine to launch a copy, if this attempt still runs.
    pub hedge_at: Option<Instant>,
}

/// An attempt under way, with the permits that it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launched {
    /// The attempt.
    pub attempt: Attempt,
    pub(super) ticket: Option<Ticket>,
    pub(super) paid: Paid,
    /// Whether an adaptive limit let it pass, and has yet to learn its end.
    pub(super) paced: bool,
    /// Whether it holds a place by a concurrency limit.
    pub(super) placed: bool,
}

impl Launched {
    /// An attempt that no budget was asked for.
    pub(super) const fn free(attempt: Attempt, ticket: Option<Ticket>) -> Self {
        Self { attempt, ticket, paid: Paid::FREE, paced: false, placed: false }
    }
}
