//! Endpoints in JSON.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde::Serialize;
use stagger::{Instant, Span};
use stagger_text::Timestamp;
use utoipa::ToSchema;

use super::headers;
use super::policy::{EndpointPolicy, PolicyText};
use super::schema::{EndpointIdText, SecretText, SpanText, TimestampText};
use super::settings::RecoverySettings;
use super::status::Status;
use crate::model::{Endpoint, EndpointId, EventFilter, EventType, Statuses};
use crate::scheduler::QueueView;

/// An endpoint: where messages go, how, and how it stands.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Endpoint)]
pub(in super::super) struct EndpointView {
    #[schema(value_type = EndpointIdText)]
    id: EndpointId,
    #[schema(example = "https://example.com/webhooks")]
    url: String,
    description: String,
    /// The types that it gets; none means all.
    events: Vec<EventType>,
    #[schema(value_type = PolicyText)]
    policy: EndpointPolicy,
    /// The longest time that one attempt may take.
    #[schema(value_type = SpanText)]
    timeout: Span,
    /// The most attempts in flight.
    #[schema(value_type = u32)]
    concurrency: NonZeroU32,
    /// The most attempts a second, if there is a cap.
    #[schema(value_type = Option<u32>)]
    rate: Option<NonZeroU32>,
    recovery: RecoverySettings,
    /// Whether messages arrive in the order in which they were accepted.
    ordered: bool,
    /// Statuses that end a delivery immediately.
    #[schema(value_type = Vec<u16>)]
    permanent: Statuses,
    /// The time for which all attempts must fail before it is disabled.
    #[schema(value_type = SpanText)]
    disable_after: Span,
    /// The headers of every attempt. Secret values are shown as `********`.
    headers: BTreeMap<String, String>,
    #[schema(value_type = TimestampText)]
    created_at: Timestamp,
    #[schema(value_type = TimestampText)]
    updated_at: Timestamp,
    /// Nothing while the endpoint is being made or deleted.
    status: Option<Status>,
}

impl EndpointView {
    pub(in super::super) fn new(
        endpoint: &Endpoint,
        queue: Option<QueueView>,
        now: Instant,
    ) -> Self {
        let events = match &endpoint.events {
            EventFilter::All => Vec::new(),
            EventFilter::Only(types) => types.clone(),
        };
        Self {
            id: endpoint.id,
            url: endpoint.url.clone(),
            description: endpoint.description.clone(),
            events,
            policy: EndpointPolicy(endpoint.policy),
            timeout: endpoint.timeout,
            concurrency: endpoint.pace.concurrency,
            rate: endpoint.pace.rate,
            recovery: RecoverySettings::of(endpoint.pace.recovery),
            ordered: endpoint.ordered,
            permanent: endpoint.permanent.clone(),
            disable_after: endpoint.disable_after,
            headers: headers::shown(&endpoint.headers),
            created_at: Timestamp(endpoint.created_at),
            updated_at: Timestamp(endpoint.updated_at),
            status: queue.map(|queue| Status::of(&queue, now)),
        }
    }
}

/// An endpoint that was just made.
#[derive(Debug, Serialize, ToSchema)]
pub(in super::super) struct EndpointCreated {
    #[serde(flatten)]
    pub(in super::super) endpoint: EndpointView,
    /// The secrets that sign its attempts.
    #[schema(value_type = SecretText)]
    pub(in super::super) secret: String,
}
