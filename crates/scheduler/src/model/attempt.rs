//! An attempt: one request to an endpoint, and its result. Kept for people to read.

use bytes::Bytes;
use stagger_core::{Instant, Span, Verdict};

use super::{AttemptFailure, EndpointId, MessageId};

/// Bytes of a reply that are kept: enough for an error page's first words, and no store fills with them.
pub const REPLY_LIMIT: usize = 1024;

/// The record of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryAttempt {
    /// The message that was sent.
    pub message: MessageId,
    /// The endpoint it was sent to.
    pub endpoint: EndpointId,
    /// Its number, from 1, replays counted on.
    pub number: u32,
    /// The time at which it began.
    pub started_at: Instant,
    /// From its beginning to the verdict.
    pub latency: Span,
    /// The status, if there was a reply.
    pub status: Option<u16>,
    /// The kind of failure, if no reply came.
    pub failure: Option<AttemptFailure>,
    /// A description of the failure.
    pub detail: Option<String>,
    /// The first [`REPLY_LIMIT`] bytes of the reply.
    pub reply: Bytes,
    /// The verdict on the attempt.
    pub verdict: Verdict,
    /// The time for which the server asked not to be called.
    pub hint: Option<Span>,
    /// The time at which the next attempt is due, if there is one.
    pub next: Option<Instant>,
}
