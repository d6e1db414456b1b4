//! What an operation may know about the attempt it is making.

use stagger_core::{Remedy, Span};

/// The attempt under way, for operations that want to know: see
/// [`Run::run_with`](crate::Run::run_with).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttemptInfo {
    /// Its number, from 1.
    pub number: u32,
    /// How long it may take: the policy's limit for one attempt, or what the deadline leaves if that
    /// is less. Async executors enforce it; a blocking operation has to hand it to its socket.
    pub timeout: Option<Span>,
    /// What is left of the deadline for this attempt and all that follows, to be sent along.
    pub remaining: Option<Span>,
    /// The change that this attempt must make, because the last outcome asked for it.
    pub remedy: Option<Remedy>,
}

#[cfg(feature = "tower")]
impl AttemptInfo {
    /// A first attempt without limits.
    pub(crate) const FIRST: Self = Self { number: 1, timeout: None, remaining: None, remedy: None };
}
