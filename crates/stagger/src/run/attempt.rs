//! The facts about an attempt, for the operation that makes it.

use stagger_core::{Remedy, Span};

/// The attempt under way, for operations that want to know: see
/// [`Run::run_with`](crate::Run::run_with).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttemptInfo {
    /// Its number, from 1.
    pub number: u32,
    /// The time limit of the attempt: the policy's, or what the deadline leaves if that
    /// is less. Async executors enforce it; a blocking operation has to hand it to its socket.
    pub timeout: Option<Span>,
    /// The rest of the deadline for this attempt and all that follow, to be sent along.
    pub remaining: Option<Span>,
    /// The change that this attempt must make, because the last outcome asked for it.
    pub remedy: Option<Remedy>,
}

#[cfg(feature = "tower")]
impl AttemptInfo {
    /// A first attempt without limits.
    pub(crate) const FIRST: Self = Self { number: 1, timeout: None, remaining: None, remedy: None };
}
