//! Deliveries and endpoints that end otherwise than well.

use stagger_dispatch::model::*;
use stagger_dispatch::store::Store;
use stagger_testkit::server::{Reaction, Script, Server};

use crate::scene::Scene;

fn only(event_type: &str) -> EventFilter {
    EventFilter::Only(vec![event_type.parse().expect("a type")])
}

#[tokio::test]
async fn a_disabled_endpoints_deliveries_wait_and_leave_once_it_is_enabled() {
    let scene = Scene::new().await;
    let server = Server::start(Script::of([])).await;
    let to = scene.endpoint(1, &server.url("/"), |_| {}).await;
    scene.node.disable(to).await.unwrap();
    let sent = scene.send(["1", "2"]).await;
    let view = scene.node.view(to).await.expect("it is there");
    assert_eq!(view.standing.disabled, Some(Disabled::ByHand));

    let cancelled = scene.node.cancel(sent[0], to).await.unwrap();
    assert_eq!(cancelled.state, DeliveryState::Cancelled);
    assert_eq!(scene.delivery(sent[0], to).await, cancelled);
    assert!(scene.node.cancel(sent[0], to).await.is_err_and(|error| error.is_conflict()));
    assert_eq!(server.taken(), 0);

    scene.node.enable(to).await.unwrap();
    scene.store.until_settled(DeliveryState::Delivered, 1).await;
    assert_eq!(server.taken(), 1);
}

#[tokio::test]
async fn a_deleted_endpoints_deliveries_end_and_its_answers_are_ignored() {
    let scene = Scene::new().await;
    let server = Server::start(Script::always(Reaction::hang())).await;
    let to = scene.endpoint(1, &server.url("/"), |endpoint| endpoint.ordered = true).await;
    let sent = scene.send(["under way", "waiting"]).await;
    server.until_taken(1).await;
    scene.node.delete_endpoint(to).await.unwrap();
    for message in sent {
        let delivery = scene.delivery(message, to).await;
        assert_eq!(delivery.state, DeliveryState::Cancelled);
        assert_eq!(delivery.ending, Some(Ending::EndpointDeleted));
    }
    assert!(scene.node.view(to).await.is_none() && scene.node.endpoint(to).is_none());
    assert!(scene.node.delete_endpoint(to).await.is_err_and(|error| error.is_not_found()));
}

#[tokio::test]
async fn an_endpoint_that_is_gone_is_disabled_and_its_owner_told() {
    let scene = Scene::new().await;
    let script = Script::of([]).on_path("/gone", Script::always(Reaction::status(410)));
    let server = Server::start(script).await;
    let url = format!("{}?token=secret", server.url("/gone"));
    let gone = scene.endpoint(1, &url, |endpoint| endpoint.events = only("invoice.paid")).await;
    let told = "stagger.endpoint.disabled";
    let owner = scene.endpoint(2, &server.url("/owner"), |e| e.events = only(told)).await;
    scene.send(["1"]).await;
    let log = scene.store.until_settled(DeliveryState::Delivered, 1).await;

    let told = log.settled.last().expect("one was delivered");
    assert_eq!(told.endpoint, owner);
    let seen = server.seen();
    let body = std::str::from_utf8(&seen.last().expect("it came").body).unwrap();
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["type"], "stagger.endpoint.disabled");
    assert_eq!(body["data"]["endpoint"], gone.to_string());
    assert_eq!(body["data"]["reason"], "gone");
    assert!(!body.to_string().contains("secret"));
    let standing = scene.node.view(gone).await.expect("it is there").standing;
    assert_eq!(standing.disabled, Some(Disabled::Gone));
}

#[tokio::test]
async fn news_of_a_dead_letter_that_dies_itself_makes_no_further_news() {
    let scene = Scene::new().await;
    let server = Server::start(Script::always(Reaction::status(422))).await;
    let told = "stagger.delivery.dead";
    scene.endpoint(1, &server.url("/"), |e| e.events = only("invoice.paid")).await;
    scene.endpoint(2, &server.url("/owner"), |e| e.events = only(told)).await;
    scene.send(["1"]).await;
    scene.store.until_settled(DeliveryState::Dead, 2).await;
    scene.node.shutdown(stagger::Span::from_secs(5)).await;
    assert_eq!(server.taken(), 2);
    let counts = scene.store.counts(None).await.unwrap();
    assert_eq!(counts.of(DeliveryState::Dead), 2);
    assert_eq!(counts.of(DeliveryState::Pending), 0);
}

#[tokio::test]
async fn nobody_sends_in_the_dispatchers_own_name() {
    let scene = Scene::new().await;
    let mut forged = crate::scene::submission("1");
    forged.event_type = "stagger.endpoint.disabled".parse().unwrap();
    let refused = scene.node.accept(scene.app, vec![forged]).await;
    assert!(refused.is_err_and(|error| error.is_invalid()));
    let other = ApplicationId::from_uuid(uuid::Uuid::from_u128(404));
    let nobody = scene.node.accept(other, vec![crate::scene::submission("1")]).await;
    assert!(nobody.is_err_and(|error| error.is_not_found()));
}
