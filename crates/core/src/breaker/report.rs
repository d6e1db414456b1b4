//! What a breaker hears about a call.

use crate::outcome::{Cause, Outcome, Verdict};

/// What a settled call says about its destination.
///
/// ```
/// use stagger_core::breaker::Report;
/// use stagger_core::{Cause, Outcome, Verdict};
/// let not_found = Outcome::new(Verdict::Permanent);
/// assert_eq!(Report::of(&not_found), Report::Success, "a 404 proves that the server lives");
/// assert_eq!(Report::of(&not_found.with_cause(Cause::Transport)), Report::Neutral);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Report {
    /// The server lives.
    Success,
    /// The server is ill, or cannot be reached.
    Failure,
    /// The server limits us. A failure only when the plan says so, else like [`Report::Neutral`].
    Throttled,
    /// The call says nothing about the server: cancelled, dropped, never sent.
    Neutral,
}

impl Report {
    /// What this outcome says about the destination.
    #[must_use]
    pub const fn of(outcome: &Outcome) -> Self {
        match (outcome.verdict, outcome.cause) {
            (Verdict::Ok, _) | (Verdict::Permanent, Cause::Reply) => Self::Success,
            (Verdict::Transient | Verdict::Unprocessed, _) => Self::Failure,
            (Verdict::Throttled, _) => Self::Throttled,
            (Verdict::Permanent | Verdict::Cancelled, _) => Self::Neutral,
        }
    }
}
