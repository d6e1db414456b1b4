//! The report of a call to its breaker.

use crate::outcome::{Cause, Outcome, Verdict};

/// The meaning of a settled call for the health of its destination.
///
/// A retry asks whether the same call may succeed later. A breaker asks whether the server is well. The
/// answers differ where a failure of the server is not retried:
///
/// | outcome | report | reason |
/// | --- | --- | --- |
/// | success | success | the server works |
/// | HTTP 4xx; gRPC INVALID_ARGUMENT, NOT_FOUND and the other faults of the caller | success | the server lives and judged the call |
/// | transient, unprocessed | failure | the server failed, or cannot be reached |
/// | any HTTP 5xx, also 501, 505 and 507 which are not retried | failure | by RFC 9110 section 15.6 the server admits that it failed |
/// | gRPC DEADLINE_EXCEEDED | failure | a server that answers too late is a server that hangs; it is not retried because the caller's time is over |
/// | gRPC INTERNAL, UNKNOWN, DATA_LOSS | failure | an invariant, a handler or a store of the server broke |
/// | throttled | throttled | the server lives and limits its callers |
/// | permanent below the protocol | neutral | a bad name or certificate says nothing about the load of the server |
/// | cancelled | neutral | the caller ended the call |
///
/// ```
/// use stagger_core::breaker::Report;
/// use stagger_core::{Cause, Outcome, Verdict};
/// let not_found = Outcome::new(Verdict::Permanent);
/// assert_eq!(Report::of(&not_found), Report::Success, "a 404 proves that the server lives");
/// assert_eq!(Report::of(&not_found.with_cause(Cause::Transport)), Report::Neutral);
/// let no_space = Outcome::new(Verdict::Permanent).with_server_fault();
/// assert_eq!(Report::of(&no_space), Report::Failure, "a 507 is the server's fault");
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
    /// The report of this outcome, by the table above.
    #[must_use]
    pub const fn of(outcome: &Outcome) -> Self {
        match (outcome.verdict, outcome.cause) {
            (Verdict::Permanent, _) if outcome.server_fault => Self::Failure,
            (Verdict::Ok, _) | (Verdict::Permanent, Cause::Reply) => Self::Success,
            (Verdict::Transient | Verdict::Unprocessed, _) => Self::Failure,
            (Verdict::Throttled, _) => Self::Throttled,
            (Verdict::Permanent | Verdict::Cancelled, _) => Self::Neutral,
        }
    }
}
