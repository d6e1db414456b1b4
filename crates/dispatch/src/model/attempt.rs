//! An attempt: one request to an endpoint, and what came of it. Kept for people to read.

use bytes::Bytes;
use stagger::{Instant, Span, Verdict};

use super::{EndpointId, Failure, MessageId};

/// Bytes of a reply that are kept: enough for an error page's first words, and no store fills with them.
pub const REPLY_LIMIT: usize = 1024;

/// What one attempt came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// What was sent.
    pub message: MessageId,
    /// Where to.
    pub endpoint: EndpointId,
    /// Its number, from 1, replays counted on.
    pub number: u32,
    /// When it began.
    pub started_at: Instant,
    /// From its beginning to the verdict.
    pub latency: Span,
    /// The status, if there was a reply.
    pub status: Option<u16>,
    /// What broke, if there was none.
    pub failure: Option<Failure>,
    /// What broke, in words.
    pub detail: Option<String>,
    /// The first [`REPLY_LIMIT`] bytes of the reply.
    pub reply: Bytes,
    /// What it means.
    pub verdict: Verdict,
    /// How long the server asked us to stay away.
    pub hint: Option<Span>,
    /// When the next attempt is due, if there is one.
    pub next: Option<Instant>,
}
