//! Deliveries in JSON.

use serde::Serialize;
use stagger_text::Timestamp;
use utoipa::ToSchema;

use super::schema::{EndingName, EndpointIdText, MessageIdText, StateName, TimestampText};
use crate::model::{Delivery, DeliveryEnding, EndpointId, MessageId};

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
