//! Deliveries and endpoints that end otherwise than well.

use stagger_scheduler::model::*;
use stagger_store::{DeliveryStore, ReplayRequest};
use stagger_testkit::server::{Reaction, Script, TestServer};

use crate::fixture::Fixture;

fn only(event_type: &str) -> EventFilter {
    EventFilter::Only(vec![event_type.parse().expect("a type")])
}

#[tokio::test]
async fn a_disabled_endpoints_deliveries_wait_and_leave_once_it_is_enabled() {
    let fixture = Fixture::new().await;
    let server = TestServer::start(Script::of([])).await;
    let to = fixture.endpoint(1, &server.url("/"), |_| {}).await;
    fixture.node.disable(to).await.unwrap();
    let sent = fixture.send(["1", "2"]).await;
    let view = fixture.node.view(to).await.expect("it is there");
    assert_eq!(view.endpoint_state.disabled, Some(Disabled::ByHand));

    let cancelled = fixture.node.cancel(sent[0], to).await.unwrap();
    assert_eq!(cancelled.state, DeliveryState::Cancelled);
    assert_eq!(fixture.delivery(sent[0], to).await, cancelled);
    assert!(fixture.node.cancel(sent[0], to).await.is_err_and(|error| error.is_conflict()));
    assert_eq!(server.taken(), 0);

    fixture.node.enable(to).await.unwrap();
    fixture.store.until_settled(DeliveryState::Delivered, 1).await;
    assert_eq!(server.taken(), 1);
}

#[tokio::test]
async fn a_deleted_endpoints_deliveries_end_and_its_answers_are_ignored() {
    let fixture = Fixture::new().await;
    let server = TestServer::start(Script::always(Reaction::hang())).await;
    let to = fixture.endpoint(1, &server.url("/"), |endpoint| endpoint.ordered = true).await;
    let sent = fixture.send(["under way", "waiting"]).await;
    server.until_taken(1).await;
    fixture.node.delete_endpoint(to).await.unwrap();
    for message in sent {
        let delivery = fixture.delivery(message, to).await;
        assert_eq!(delivery.state, DeliveryState::Cancelled);
        assert_eq!(delivery.ending, Some(DeliveryEnding::EndpointDeleted));
    }
    assert!(fixture.node.view(to).await.is_none() && fixture.node.endpoint(to).is_none());
    assert!(fixture.node.delete_endpoint(to).await.is_err_and(|error| error.is_not_found()));
}

#[tokio::test]
async fn an_endpoint_that_is_gone_is_disabled_and_its_owner_told() {
    let fixture = Fixture::new().await;
    let script = Script::of([]).on_path("/gone", Script::always(Reaction::status(410)));
    let server = TestServer::start(script).await;
    let url = format!("{}?token=secret", server.url("/gone"));
    let gone = fixture.endpoint(1, &url, |endpoint| endpoint.events = only("invoice.paid")).await;
    let told = "stagger.endpoint.disabled";
    let owner = fixture.endpoint(2, &server.url("/owner"), |e| e.events = only(told)).await;
    fixture.send(["1"]).await;
    let log = fixture.store.until_settled(DeliveryState::Delivered, 1).await;

    let told = log.settled.last().expect("one was delivered");
    assert_eq!(told.endpoint, owner);
    let seen = server.seen();
    let body = std::str::from_utf8(&seen.last().expect("it came").body).unwrap();
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["type"], "stagger.endpoint.disabled");
    assert_eq!(body["data"]["endpoint"], gone.to_string());
    assert_eq!(body["data"]["reason"], "gone");
    assert!(!body.to_string().contains("secret"));
    let endpoint_state = fixture.node.view(gone).await.expect("it is there").endpoint_state;
    assert_eq!(endpoint_state.disabled, Some(Disabled::Gone));
}

#[tokio::test]
async fn an_operational_event_that_dies_makes_no_further_event() {
    let fixture = Fixture::new().await;
    let server = TestServer::start(Script::always(Reaction::status(422))).await;
    let told = "stagger.delivery.dead";
    fixture.endpoint(1, &server.url("/"), |e| e.events = only("invoice.paid")).await;
    fixture.endpoint(2, &server.url("/owner"), |e| e.events = only(told)).await;
    fixture.send(["1"]).await;
    fixture.store.until_settled(DeliveryState::Dead, 2).await;
    fixture.node.shutdown(stagger::Span::from_secs(5)).await;
    assert_eq!(server.taken(), 2);
    let counts = fixture.store.counts(None).await.unwrap();
    assert_eq!(counts.of(DeliveryState::Dead), 2);
    assert_eq!(counts.of(DeliveryState::Pending), 0);
}

#[tokio::test]
async fn an_application_cannot_send_operational_events() {
    let fixture = Fixture::new().await;
    let mut forged = crate::fixture::submission("1");
    forged.event_type = "stagger.endpoint.disabled".parse().unwrap();
    let refused = fixture.node.accept(fixture.app, vec![forged]).await;
    assert!(refused.is_err_and(|error| error.is_invalid()));
    let other = ApplicationId::from_uuid(uuid::Uuid::from_u128(404));
    let nobody = fixture.node.accept(other, vec![crate::fixture::submission("1")]).await;
    assert!(nobody.is_err_and(|error| error.is_not_found()));
}

#[tokio::test]
async fn a_replayed_delivery_is_cancelled_although_it_has_not_arrived_yet() {
    let fixture = Fixture::new().await;
    let to = fixture.endpoint(1, "http://127.0.0.1:9/", |_| {}).await;
    fixture.node.disable(to).await.unwrap();
    let sent = fixture.send(["1"]).await[0];
    fixture.node.cancel(sent, to).await.unwrap();
    for _ in 0..20 {
        assert_eq!(fixture.node.replay(ReplayRequest::One(sent, to)).await.unwrap(), 1);
        let cancelled = fixture.node.cancel(sent, to).await.unwrap();
        assert_eq!(cancelled.state, DeliveryState::Cancelled);
    }
    assert_eq!(fixture.delivery(sent, to).await.replays, 20);
}
