//! An attempt: one request to an endpoint, its answer before it is classified, and its record.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use stagger_core::{Hint, Instant, Span, Verdict};

use super::{EndpointId, HandshakeResult, MessageId};

/// Bytes of a reply that are kept: enough for an error page's first words, and no store fills with them.
pub const REPLY_LIMIT: usize = 1024;

/// The record of one attempt, kept for people to read.
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

/// The facts of one attempt, as the sender saw them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptAnswer {
    /// The status of the reply, or the failure.
    pub result: Result<u16, AttemptFailure>,
    /// A description of the failure.
    pub detail: Option<String>,
    /// The hint in the reply's headers about the next call.
    pub hint: Option<Hint>,
    /// The first bytes of the reply's body.
    pub reply: Bytes,
    /// From the beginning of the attempt to the head of the reply, or to the failure.
    pub latency: Span,
    /// Whether the receiver may have seen a part of the request. Such an attempt is paid for, also when it
    /// was stopped and counts as not made.
    pub written: bool,
    /// The result of the handshake, if the endpoint wants one and it has taken place.
    pub handshake: Option<HandshakeResult>,
}

impl AttemptAnswer {
    /// The answer of an attempt that does not count.
    #[must_use]
    pub const fn not_made() -> Self {
        Self {
            result: Err(AttemptFailure::Stopped),
            detail: None,
            hint: None,
            reply: Bytes::new(),
            latency: Span::ZERO,
            written: false,
            handshake: None,
        }
    }
}

/// Why there was no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptFailure {
    /// The name has no address, or the resolver did not answer.
    Resolve,
    /// No connection: refused, unreachable.
    Connect,
    /// The TLS handshake failed: certificate, protocol.
    Tls,
    /// The time of the attempt was over before the head of a reply came.
    Timeout,
    /// The connection failed, or the reply was not HTTP.
    Transport,
    /// The egress guard refused the address. Nothing was sent.
    Egress,
    /// The request could not be built. Nothing was sent.
    Unbuildable,
    /// The dispatcher was stopped while the attempt was in flight. It counts as not made.
    Stopped,
    /// The node lacks descriptors, buffers, ports or its turn at the resolver. It counts as not made.
    Local,
    /// The authorization server of the endpoint gave no access token. Nothing was sent, and it counts as not made.
    Token,
    /// The endpoint has not consented to deliveries. No message was sent, and it counts as not made.
    Handshake,
}

impl AttemptFailure {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Resolve,
        Self::Connect,
        Self::Tls,
        Self::Timeout,
        Self::Transport,
        Self::Egress,
        Self::Unbuildable,
        Self::Stopped,
        Self::Local,
        Self::Token,
        Self::Handshake,
    ];

    /// Its name in the API and in metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Resolve => "resolve",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Timeout => "timeout",
            Self::Transport => "transport",
            Self::Egress => "egress",
            Self::Unbuildable => "unbuildable",
            Self::Stopped => "stopped",
            Self::Local => "local",
            Self::Token => "token",
            Self::Handshake => "handshake",
        }
    }

    /// The failure of this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|failure| failure.name() == name)
    }
}
