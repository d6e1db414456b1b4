//! Attempts in JSON.

use serde::Serialize;
use stagger::Span;
use stagger_text::Timestamp;
use utoipa::ToSchema;

use super::schema::{FailureName, SpanText, TimestampText, VerdictName};
use crate::model::{AttemptFailure, DeliveryAttempt};

/// One request to an endpoint, and its result.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Attempt)]
pub(in super::super) struct AttemptView {
    /// Its number, from 1, replays counted on.
    #[schema(minimum = 1)]
    number: u32,
    /// The time at which it began.
    #[schema(value_type = TimestampText)]
    started_at: Timestamp,
    /// From its beginning to the head of the reply, or to the failure.
    #[schema(value_type = SpanText)]
    latency: Span,
    /// The status, if there was a reply.
    status: Option<u16>,
    /// The kind of failure, if no reply came.
    #[schema(value_type = Option<FailureName>)]
    failure: Option<&'static str>,
    /// A description of the failure.
    detail: Option<String>,
    /// The first KiB of the reply's body; bytes that are no UTF-8 are replaced.
    reply: String,
    /// The verdict on the attempt.
    #[schema(value_type = VerdictName)]
    verdict: &'static str,
    /// The time for which the server asked not to be called.
    #[schema(value_type = Option<SpanText>)]
    hint: Option<Span>,
    /// The time at which the next attempt is due, if there is one.
    #[schema(value_type = Option<TimestampText>)]
    next: Option<Timestamp>,
}

impl From<&DeliveryAttempt> for AttemptView {
    fn from(attempt: &DeliveryAttempt) -> Self {
        Self {
            number: attempt.number,
            started_at: Timestamp(attempt.started_at),
            latency: attempt.latency,
            status: attempt.status,
            failure: attempt.failure.map(AttemptFailure::name),
            detail: attempt.detail.clone(),
            reply: String::from_utf8_lossy(&attempt.reply).into_owned(),
            verdict: attempt.verdict.name(),
            hint: attempt.hint,
            next: attempt.next.map(Timestamp),
        }
    }
}

/// All attempts of a delivery.
#[derive(Debug, Serialize, ToSchema)]
pub(in super::super) struct Attempts {
    /// In the order in which they were made.
    pub(in super::super) items: Vec<AttemptView>,
}
