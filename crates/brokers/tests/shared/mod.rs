//! A sender with all brokers, and a message for it.

use std::sync::Arc;

use stagger::Instant;
use stagger_brokers::Brokers;
use stagger_scheduler::model::*;
use stagger_sender::{SendOptions, Sender};
use uuid::Uuid;

pub(crate) fn sender(allow_private: bool) -> Sender {
    let options = SendOptions { allow_private, ..SendOptions::default() };
    Sender::new(options).expect("no certificates").with_destinations(Arc::new(Brokers))
}

/// A message of the type `invoice.paid` with this id.
pub(crate) fn message(id: u128) -> Message {
    Message {
        id: MessageId::from_uuid(Uuid::from_u128(id)),
        application: ApplicationId::from_uuid(Uuid::from_u128(2)),
        event_type: "invoice.paid".parse().expect("a type"),
        key: None,
        content_type: "application/json".to_owned(),
        size: 2,
        created_at: Instant::ORIGIN,
        channels: Vec::new(),
        trace: None,
        attributes: EventAttributes::default(),
    }
}
