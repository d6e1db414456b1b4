//! Messages, deliveries, attempts and replays in JSON.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use stagger::Span;
use stagger_scheduler::model::{
    AttemptFailure, ChannelName, Delivery, DeliveryAttempt, DeliveryEnding, DeliveryState,
    EndpointId, Message, MessageId,
};
use stagger_store::{Accepted, DeliveryFilter, MessageFilter};
use stagger_text::Timestamp;
use utoipa::ToSchema;

use super::schema::{
    AnyJson, ChannelNameText, EndingName, EndpointIdText, EventTypeText, FailureName,
    IdempotencyKeyText, MessageIdText, SpanText, StateName, TimestampText, TraceParentText,
    VerdictName,
};
use crate::Error;
use crate::api::query;
use crate::api::query::bound;

/// An event to deliver.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"event_type": "invoice.paid", "payload": {"invoice": "in_17", "amount": 1250}}))]
pub(in super::super) struct NewMessage<'b> {
    /// The event type.
    #[serde(borrow)]
    #[schema(value_type = EventTypeText)]
    pub(in super::super) event_type: Cow<'b, str>,
    /// Any JSON. It is delivered byte for byte as it stands here.
    #[serde(borrow)]
    #[schema(value_type = AnyJson)]
    pub(in super::super) payload: &'b RawValue,
    /// The sender's own name for it: the same one answers with the same message. Not beside the
    /// header `Idempotency-Key`.
    #[serde(borrow)]
    #[schema(value_type = Option<IdempotencyKeyText>)]
    pub(in super::super) idempotency_key: Option<Cow<'b, str>>,
    /// The channels that it is in: default none. Endpoints that name channels receive only messages in one of them.
    #[schema(value_type = Option<Vec<ChannelNameText>>, max_items = 10)]
    pub(in super::super) channels: Option<Vec<ChannelName>>,
    /// The trace of this message (W3C Trace Context), which its attempts continue: default the header `traceparent`
    /// of the request. A malformed one is ignored.
    #[serde(borrow)]
    #[schema(value_type = Option<TraceParentText>)]
    pub(in super::super) traceparent: Option<Cow<'b, str>>,
    /// The `tracestate` beside it, of which 512 bytes are kept.
    #[serde(borrow)]
    #[schema(value_type = Option<String>, example = "vendor=00f067aa0ba902b7")]
    pub(in super::super) tracestate: Option<Cow<'b, str>>,
    /// Its attributes as a CloudEvents event: `id`, `source`, `subject`, `time`, `dataschema` and extensions, at most 20 of
    /// 512 bytes each. They are sent to endpoints whose `format` is one of CloudEvents.
    #[schema(value_type = Option<BTreeMap<String, String>>)]
    pub(in super::super) attributes: Option<BTreeMap<String, String>>,
}

/// Several messages, accepted all or none.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct NewBatch<'b> {
    #[serde(borrow)]
    #[schema(value_type = Vec<NewMessage>, min_items = 1, max_items = 1_000)]
    pub(in super::super) messages: Vec<NewMessage<'b>>,
}

/// A message is on disk, and will be delivered to each endpoint that subscribes to its type.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(in super::super) struct AcceptedMessage {
    #[schema(value_type = MessageIdText)]
    id: MessageId,
    /// Whether its idempotency key was there before: then this is the first message with it, and
    /// nothing was added.
    repeated: bool,
}

impl From<Accepted> for AcceptedMessage {
    fn from(accepted: Accepted) -> Self {
        Self { id: accepted.id, repeated: accepted.repeated }
    }
}

/// All messages of a batch are on disk.
#[derive(Debug, Serialize, ToSchema)]
pub(in super::super) struct AcceptedBatch {
    /// In the order of the batch.
    pub(in super::super) messages: Vec<AcceptedMessage>,
}

/// A test event is on its way.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(in super::super) struct TestSent {
    #[schema(value_type = MessageIdText)]
    pub(in super::super) message: MessageId,
}

/// A message without its payload.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Message)]
pub(in super::super) struct MessageView {
    #[schema(value_type = MessageIdText)]
    id: MessageId,
    #[schema(value_type = EventTypeText)]
    event_type: String,
    #[schema(value_type = Option<IdempotencyKeyText>)]
    idempotency_key: Option<String>,
    /// The `Content-Type` that it is delivered with.
    content_type: String,
    /// Bytes of its payload.
    size: usize,
    #[schema(value_type = TimestampText)]
    created_at: Timestamp,
    /// The channels that it is in.
    #[schema(value_type = Vec<ChannelNameText>)]
    channels: Vec<ChannelName>,
    /// The trace of its producer, which its attempts continue.
    #[schema(value_type = Option<TraceParentText>)]
    traceparent: Option<String>,
    /// Its attributes as a CloudEvents event, besides those that every message has.
    attributes: BTreeMap<String, String>,
}

impl From<&Message> for MessageView {
    fn from(message: &Message) -> Self {
        let attributes = message.attributes.iter();
        Self {
            id: message.id,
            event_type: message.event_type.as_str().to_owned(),
            idempotency_key: message.key.as_ref().map(ToString::to_string),
            content_type: message.content_type.clone(),
            size: message.size,
            created_at: Timestamp(message.created_at),
            channels: message.channels.clone(),
            traceparent: message.trace.as_ref().map(ToString::to_string),
            attributes: attributes.map(|(name, it)| (name.to_owned(), it.to_string())).collect(),
        }
    }
}

/// One message on its way to one endpoint.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Delivery)]
pub(in super::super) struct DeliveryView {
    #[schema(value_type = MessageIdText)]
    message: MessageId,
    #[schema(value_type = EndpointIdText)]
    endpoint: EndpointId,
    #[schema(value_type = StateName)]
    state: &'static str,
    /// The next attempt is not made before this; nothing once there is none.
    #[schema(value_type = Option<TimestampText>)]
    due: Option<Timestamp>,
    /// Attempts made in all, including those before a replay.
    attempts: u32,
    /// The number of replays.
    replays: u32,
    /// Why it is dead or cancelled.
    #[schema(value_type = Option<EndingName>)]
    ending: Option<&'static str>,
    /// The time of the last change.
    #[schema(value_type = TimestampText)]
    updated_at: Timestamp,
}

impl From<&Delivery> for DeliveryView {
    fn from(delivery: &Delivery) -> Self {
        Self {
            message: delivery.message,
            endpoint: delivery.endpoint,
            state: delivery.state.name(),
            due: delivery.state.is_open().then_some(Timestamp(delivery.due)),
            attempts: delivery.attempts,
            replays: delivery.replays,
            ending: delivery.ending.map(DeliveryEnding::name),
            updated_at: Timestamp(delivery.updated_at),
        }
    }
}

/// All deliveries of a message.
#[derive(Debug, Serialize, ToSchema)]
pub(in super::super) struct Deliveries {
    /// In the order of their endpoints.
    pub(in super::super) items: Vec<DeliveryView>,
}

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

/// The deliveries to replay.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct ReplayFilter {
    /// In this state: `dead` (default) or `delivered`.
    #[schema(value_type = Option<ReplayState>)]
    state: Option<String>,
    /// To this endpoint only. The path of an endpoint names it already.
    #[schema(value_type = Option<EndpointIdText>)]
    endpoint: Option<String>,
    /// Of messages of this type only.
    #[schema(value_type = Option<EventTypeText>)]
    event_type: Option<String>,
    /// Only those whose last attempt was answered with this status.
    #[schema(minimum = 100, maximum = 999)]
    status: Option<u16>,
    /// Of messages accepted at or after this.
    #[schema(value_type = Option<TimestampText>)]
    since: Option<String>,
    /// Of messages accepted before this.
    #[schema(value_type = Option<TimestampText>)]
    until: Option<String>,
}

impl ReplayFilter {
    /// The same, to one endpoint or to all.
    ///
    /// # Errors
    /// A value is out of its bounds.
    pub(in super::super) fn check(
        self,
        endpoint: Option<EndpointId>,
    ) -> Result<DeliveryFilter, Error> {
        let state = match self.state.as_deref() {
            None | Some("dead") => DeliveryState::Dead,
            Some("delivered") => DeliveryState::Delivered,
            Some(other) => return Err(Error::invalid("state", other, "dead or delivered")),
        };
        let Self { endpoint: named, event_type, status, since, until, .. } = self;
        RetryFilter { endpoint: named, event_type, status, since, until }
            .with(Some(state), endpoint)
    }
}

/// The waiting deliveries to attempt now.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct RetryFilter {
    /// To this endpoint only. The path of an endpoint names it already.
    #[schema(value_type = Option<EndpointIdText>)]
    endpoint: Option<String>,
    /// Of messages of this type only.
    #[schema(value_type = Option<EventTypeText>)]
    event_type: Option<String>,
    /// Only those whose last attempt was answered with this status.
    #[schema(minimum = 100, maximum = 999)]
    status: Option<u16>,
    /// Of messages accepted at or after this.
    #[schema(value_type = Option<TimestampText>)]
    since: Option<String>,
    /// Of messages accepted before this.
    #[schema(value_type = Option<TimestampText>)]
    until: Option<String>,
}

impl RetryFilter {
    /// The same, to one endpoint or to all.
    ///
    /// # Errors
    /// A value is out of its bounds.
    pub(in super::super) fn check(
        self,
        endpoint: Option<EndpointId>,
    ) -> Result<DeliveryFilter, Error> {
        self.with(None, endpoint)
    }

    fn with(
        self,
        state: Option<DeliveryState>,
        of_path: Option<EndpointId>,
    ) -> Result<DeliveryFilter, Error> {
        let named: Option<EndpointId> = self.endpoint.as_deref().map(str::parse).transpose()?;
        if let (Some(named), Some(of_path)) = (named, of_path)
            && named != of_path
        {
            return Err(Error::invalid("endpoint", named, "that of the path, or left out"));
        }
        Ok(DeliveryFilter {
            endpoint: of_path.or(named),
            state,
            event_type: self.event_type.as_deref().map(str::parse).transpose()?,
            status: self.status.map(|status| query::status(&status.to_string())).transpose()?,
            since: bound("since", self.since.as_deref())?,
            until: bound("until", self.until.as_deref())?,
        })
    }
}

/// The messages that an endpoint may have missed.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct MissingFilter {
    /// Accepted at or after this.
    #[schema(value_type = TimestampText)]
    since: String,
    /// Accepted before this.
    #[schema(value_type = Option<TimestampText>)]
    until: Option<String>,
    /// Of this type only. The endpoint gets only types that it subscribes to in any case.
    #[schema(value_type = Option<EventTypeText>)]
    event_type: Option<String>,
}

impl MissingFilter {
    /// The messages that pass.
    ///
    /// # Errors
    /// A value is out of its bounds.
    pub(in super::super) fn check(&self) -> Result<MessageFilter, Error> {
        Ok(MessageFilter {
            event_type: self.event_type.as_deref().map(str::parse).transpose()?,
            since: bound("since", Some(&self.since))?,
            until: bound("until", self.until.as_deref())?,
        })
    }
}

/// Deliveries are due now; those of each endpoint leave slowly at first.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[schema(as = Retried)]
pub(in super::super) struct RetryReply {
    /// The number of deliveries that have become due.
    pub(in super::super) retried: usize,
}

/// States whose deliveries can be replayed.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "it stands in the document only")]
enum ReplayState {
    Dead,
    Delivered,
}

/// Deliveries are pending again, and leave slowly at first.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(in super::super) struct Replayed {
    /// The number of replayed deliveries.
    pub(in super::super) replayed: usize,
}
