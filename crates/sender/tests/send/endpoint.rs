//! An endpoint and a message, for tests that make attempts.

use bytes::Bytes;
use stagger::{Instant, Span};
use stagger_scheduler::model::{ApplicationId, Endpoint, EventAttributes, Message, MessageId};
use stagger_sender::{SendOptions, parse_secret};

/// The key of the vectors, and their body.
pub(crate) const SECRET: &str = "whsec_AQIDBAUGBwgJCgsMDQ4PEBESExQVFg==";

/// An endpoint that gives up after 10 s.
pub(crate) fn endpoint(url: &str) -> Endpoint {
    let application = "app_0190163d8694739b84f6b0d3ccc3a5a1".parse().expect("an id");
    let id = "ep_0190163d8694739b84f6b0d3ccc3a5a2".parse().expect("an id");
    Endpoint {
        timeout: Span::from_secs(10),
        secrets: vec![parse_secret(SECRET).expect("a key")],
        ..Endpoint::new(id, application, url, Instant::ORIGIN)
    }
}

/// A message; its payload is handed over beside it.
pub(crate) fn message() -> Message {
    let application: ApplicationId = "app_0190163d8694739b84f6b0d3ccc3a5a1".parse().expect("an id");
    Message {
        id: "msg_0190163d8694739b84f6b0d3ccc3a5a3".parse::<MessageId>().expect("an id"),
        application,
        event_type: "invoice.paid".parse().expect("a type"),
        key: None,
        content_type: "application/json".into(),
        size: Bytes::from_static(b"{}").len(),
        created_at: Instant::ORIGIN,
        channels: Vec::new(),
        trace: None,
        attributes: EventAttributes::default(),
    }
}

/// Options under which servers on this machine can be reached.
pub(crate) fn private() -> SendOptions {
    SendOptions { allow_private: true, ..SendOptions::default() }
}
