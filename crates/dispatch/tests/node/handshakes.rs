//! Endpoints that want a handshake: without consent nothing is sent and nothing is counted.

use std::num::NonZeroU32;

use stagger_scheduler::model::{AttemptFailure, DeliveryState, Endpoint, HandshakeResult};
use stagger_testkit::server::{Reaction, Script, TestServer};

use crate::fixture::Fixture;

#[tokio::test]
async fn an_endpoint_that_refuses_gets_nothing_and_its_new_address_gets_what_waited() {
    let fixture = Fixture::new().await;
    let refusing = TestServer::start(Script::always(Reaction::status(405))).await;
    let consent = Reaction::status(200)
        .header("webhook-allowed-origin", "*")
        .header("webhook-allowed-rate", "60000");
    let granting = TestServer::start(Script::of([consent]).then(Reaction::status(204))).await;
    let wanting = |it: &mut Endpoint| it.handshake = true;
    let held = fixture.endpoint(1, &refusing.url("/"), wanting).await;
    let sent = fixture.send(["1", "2", "3"]).await;
    let state = loop {
        let view = fixture.node.view(held).await.expect("it is there");
        if view.endpoint_state.handshake.is_some() && view.in_flight == 0 {
            break view.endpoint_state;
        }
        tokio::task::yield_now().await;
    };
    let refused = HandshakeResult::Refused { status: Some(405) };
    assert_eq!(state.handshake.map(|handshake| handshake.result), Some(refused));
    let last = state.last_failure.and_then(|last| last.failure);
    assert_eq!(last, Some(AttemptFailure::Handshake));
    for message in &sent {
        let delivery = fixture.delivery(*message, held).await;
        assert_eq!((delivery.state, delivery.attempts), (DeliveryState::Pending, 0));
    }
    assert!(refusing.seen().iter().all(|seen| seen.method == "OPTIONS"));

    fixture.endpoint(1, &granting.url("/"), wanting).await;
    fixture.store.until_settled(DeliveryState::Delivered, 3).await;
    for message in &sent {
        assert_eq!(fixture.delivery(*message, held).await.attempts, 1);
    }
    let methods: Vec<_> = granting.seen().iter().map(|seen| seen.method.to_string()).collect();
    assert_eq!(methods, ["OPTIONS", "POST", "POST", "POST"]);
    let view = fixture.node.view(held).await.expect("it is there");
    let granted = HandshakeResult::Granted { rate: NonZeroU32::new(60_000) };
    assert_eq!(view.endpoint_state.handshake.map(|handshake| handshake.result), Some(granted));
    assert_eq!(view.rate, Some(1_000));
}
