//! The request for an endpoint's consent, over real sockets.

use std::num::NonZeroU32;

use bytes::Bytes;
use stagger::Span;
use stagger_scheduler::model::{
    AttemptAnswer, AttemptFailure, Endpoint, HandshakeResult, HeaderTemplate,
};
use stagger_sender::{SendOptions, Sender, Target};
use stagger_testkit::server::{Reaction, RefusingPort, Script, TestServer};

use crate::attempts::field;
use crate::endpoint::{endpoint, message, private};

fn sender() -> Sender {
    let origin = Some("hooks.example".to_owned());
    Sender::new(SendOptions { origin, ..private() }).expect("good options")
}

fn wanting(url: &str) -> Endpoint {
    let secret = HeaderTemplate {
        name: "authorization".into(),
        value: "Bearer hunter2".into(),
        sensitive: true,
    };
    Endpoint { handshake: true, headers: vec![secret], ..endpoint(url) }
}

async fn send(sender: &Sender, target: &Target) -> AttemptAnswer {
    sender.send_to(target, &message(), Bytes::from_static(b"{}"), 1).await
}

fn consent() -> Reaction {
    Reaction::status(200).header("webhook-allowed-origin", "hooks.example")
}

#[tokio::test]
async fn a_message_is_sent_after_consent_which_is_asked_for_once() {
    let granting = consent().header("webhook-allowed-rate", "120");
    let server = TestServer::start(Script::of([granting]).then(Reaction::status(204))).await;
    let sender = sender();
    let mut endpoint = wanting(&server.url("/hook?a=1"));
    endpoint.pace.rate = NonZeroU32::new(5);
    let target = sender.prepare(&endpoint);
    let granted = Some(HandshakeResult::Granted { rate: NonZeroU32::new(120) });
    for _ in 0..2 {
        let answer = send(&sender, &target).await;
        assert_eq!((answer.result, answer.handshake, answer.written), (Ok(204), granted, true));
    }
    let seen = server.seen();
    let lines: Vec<_> =
        seen.iter().map(|request| (request.method.as_str(), request.path.as_str())).collect();
    assert_eq!(lines, [("OPTIONS", "/hook?a=1"), ("POST", "/hook?a=1"), ("POST", "/hook?a=1")]);
    assert_eq!(field(&seen[0], "webhook-request-origin"), "hooks.example");
    assert_eq!(field(&seen[0], "webhook-request-rate"), "300");
    assert!(!seen[0].headers.contains_key("authorization"), "before it has consented");
    assert!(seen[1].headers.contains_key("authorization"));
    assert_eq!(server.connections(), 1, "the connection of the handshake is used");
}

#[tokio::test]
async fn without_consent_nothing_is_sent_and_the_next_attempt_asks_again() {
    let refusals = [
        (Reaction::status(405), Some(405)),
        (Reaction::status(200), Some(200)),
        (Reaction::status(200).header("webhook-allowed-origin", "other.example"), Some(200)),
        (Reaction::reset(), None),
    ];
    for (reaction, status) in refusals {
        let server =
            TestServer::start(Script::of([reaction, consent()]).then(Reaction::status(204))).await;
        let sender = sender();
        let target = sender.prepare(&wanting(&server.url("/")));
        let answer = send(&sender, &target).await;
        assert_eq!(answer.result, Err(AttemptFailure::Handshake), "{:?}", answer.detail);
        assert_eq!(answer.handshake, Some(HandshakeResult::Refused { status }));
        assert!(!answer.written, "the message was not sent");
        assert!(answer.detail.unwrap_or_default().starts_with("no consent of the endpoint: "));
        assert_eq!(send(&sender, &target).await.result, Ok(204));
        assert_eq!(server.seen().iter().filter(|it| it.method == "POST").count(), 1);
    }
}

#[tokio::test]
async fn an_endpoint_that_cannot_be_asked_has_not_consented() {
    let port = RefusingPort::hold().expect("a port");
    let (sender, target) = {
        let sender = sender();
        let target = sender.prepare(&wanting(&port.url("/")));
        (sender, target)
    };
    let answer = send(&sender, &target).await;
    assert_eq!(answer.result, Err(AttemptFailure::Handshake));
    // The guard refuses addresses for the handshake as for the message.
    let guarded =
        Sender::new(SendOptions { origin: Some("hooks.example".into()), ..SendOptions::default() });
    let guarded = guarded.expect("good options");
    let answer = send(&guarded, &guarded.prepare(&wanting("http://127.0.0.1/"))).await;
    assert_eq!((answer.result, answer.written), (Err(AttemptFailure::Handshake), false));
    let server = TestServer::start(Script::always(Reaction::hang())).await;
    let timeout = Span::from_secs(1);
    let target = sender.prepare(&Endpoint { timeout, ..wanting(&server.url("/")) });
    let answer = send(&sender, &target).await;
    assert_eq!((answer.result, answer.written), (Err(AttemptFailure::Handshake), false));
}

#[tokio::test]
async fn attempts_at_once_ask_once() {
    let server = TestServer::start(Script::of([consent()]).then(Reaction::status(204))).await;
    let sender = sender();
    let target = sender.prepare(&wanting(&server.url("/")));
    let (one, two, three) =
        tokio::join!(send(&sender, &target), send(&sender, &target), send(&sender, &target));
    assert_eq!([one, two, three].map(|answer| answer.result), [Ok(204); 3]);
    assert_eq!(server.seen().iter().filter(|it| it.method == "OPTIONS").count(), 1);
}

/// A node whose public address was taken from its settings must not end the deliveries that wait.
#[tokio::test]
async fn a_sender_without_a_name_cannot_ask() {
    let nameless = Sender::new(private()).expect("good options");
    let answer = send(&nameless, &nameless.prepare(&wanting("http://127.0.0.1/"))).await;
    assert_eq!((answer.result, answer.written), (Err(AttemptFailure::Handshake), false));
    let refused = nameless.check(&wanting("http://127.0.0.1/")).expect_err("it has no name");
    assert!(refused.to_string().starts_with("handshake = true: must be "), "{refused}");
    assert!(sender().check(&wanting("http://127.0.0.1/")).is_ok());
}
