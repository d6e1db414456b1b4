//! From acceptance to delivery.

use stagger_scheduler::model::*;
use stagger_store::{DeliveryFilter, DeliveryStore, ReplayRequest};
use stagger_testkit::server::{Reaction, Script, SeenRequest, TestServer};

use crate::fixture::{Fixture, submission};

fn header<'a>(seen: &'a SeenRequest, name: &str) -> &'a str {
    seen.headers.get(name).expect("it is on every attempt").to_str().expect("it is text")
}

#[tokio::test]
async fn an_accepted_message_reaches_its_endpoint_once() {
    let fixture = Fixture::new().await;
    let server = TestServer::start(Script::always(Reaction::ok("thanks"))).await;
    let to = fixture.endpoint(1, &server.url("/hook"), |_| {}).await;
    let sent = fixture.send([r#"{"amount": 10.0}"#]).await[0];
    fixture.store.until_settled(DeliveryState::Delivered, 1).await;

    let seen = server.seen();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].body, r#"{"amount": 10.0}"#);
    assert_eq!(header(&seen[0], "webhook-id"), sent.to_string());
    assert_eq!(header(&seen[0], "stagger-attempt"), "1");
    assert!(header(&seen[0], "webhook-signature").starts_with("v1,"));
    let attempts = fixture.store.attempts(sent, to).await.unwrap();
    assert_eq!((attempts.len(), attempts[0].status), (1, Some(200)));
    assert_eq!(attempts[0].reply, "thanks");
    let arrivals = fixture.node.attempt_rates(Some(to)).seconds;
    assert_eq!(arrivals.iter().map(|second| second.first + second.retries).sum::<u32>(), 1);
}

#[tokio::test]
async fn a_failed_attempt_is_made_again_under_the_same_id() {
    let fixture = Fixture::new().await;
    let failures = [Reaction::status(500), Reaction::reset(), Reaction::status(404)];
    let server = TestServer::start(Script::of(failures)).await;
    let to = fixture.endpoint(1, &server.url("/"), |_| {}).await;
    let sent = fixture.send(["1"]).await[0];
    fixture.store.until_settled(DeliveryState::Delivered, 1).await;

    let seen = server.seen();
    let numbers: Vec<_> = seen.iter().map(|seen| header(seen, "stagger-attempt")).collect();
    assert_eq!(numbers, ["1", "2", "3", "4"]);
    assert!(seen.iter().all(|seen| header(seen, "webhook-id") == sent.to_string()));
    let attempts = fixture.store.attempts(sent, to).await.unwrap();
    assert_eq!(attempts.len(), 4);
    // Full jitter: two delays of three alike are a chance of one in a million.
    let delay = |a: &DeliveryAttempt| a.next.map(|next| next - (a.started_at + a.latency));
    let delays: Vec<_> = attempts.iter().filter_map(delay).collect();
    assert_eq!(delays.len(), 3);
    assert!(delays[0] != delays[1] || delays[1] != delays[2]);
    let arrivals = fixture.node.attempt_rates(None).seconds;
    assert_eq!(arrivals.iter().map(|second| second.retries).sum::<u32>(), 3);
}

#[tokio::test]
async fn a_hint_of_one_message_pauses_the_endpoint() {
    let fixture = Fixture::new().await;
    let busy = Reaction::status(429).header("retry-after", "3600");
    let server = TestServer::start(Script::of([busy])).await;
    let policy = stagger::Policy::webhook();
    let to = fixture.endpoint(1, &server.url("/"), |endpoint| endpoint.policy = policy).await;
    fixture.send(["1"]).await;
    fixture.store.until_settled(DeliveryState::Waiting, 1).await;
    fixture.send(["2"]).await;
    // Two queries: the node has handled all earlier commands before the second.
    fixture.node.view(to).await.expect("it is there");
    let view = fixture.node.view(to).await.expect("it is there");
    assert!(view.endpoint_state.paused_until.is_some());
    assert_eq!((view.in_flight, view.ready + view.waiting), (0, 2));
    assert_eq!(server.taken(), 1);
}

#[tokio::test]
async fn one_hanging_endpoint_of_ten_delays_no_other() {
    let fixture = Fixture::new().await;
    let hang = Script::always(Reaction::hang());
    let server = TestServer::start(Script::of([]).on_path("/9", hang)).await;
    for n in 0..10 {
        fixture.endpoint(n, &server.url(&format!("/{n}")), |_| {}).await;
    }
    for _ in 0..20 {
        fixture.send(["1"]).await;
    }
    // 9 endpoints get all of theirs, and the tenth holds its own 16 slots only.
    let log = fixture.store.until_settled(DeliveryState::Delivered, 9 * 20).await;
    assert!(log.settled.iter().all(|delivery| delivery.endpoint != crate::fixture::id(9)));
    server.until_taken(9 * 20 + 16).await;
    assert_eq!(server.taken(), 9 * 20 + 16);
}

#[tokio::test]
async fn a_key_sent_twice_is_delivered_once() {
    let fixture = Fixture::new().await;
    let server = TestServer::start(Script::of([])).await;
    fixture.endpoint(1, &server.url("/"), |_| {}).await;
    let mut message = submission("1");
    message.key = Some("order-7".parse().unwrap());
    let both = vec![message.clone(), message.clone()];
    let first = fixture.node.accept(fixture.app, both).await.unwrap();
    let again = fixture.node.accept(fixture.app, vec![message]).await.unwrap();
    assert_eq!([first[0].repeated, first[1].repeated, again[0].repeated], [false, true, true]);
    assert_eq!([first[1].id, again[0].id], [first[0].id; 2]);
    fixture.send(["2"]).await;
    fixture.store.until_settled(DeliveryState::Delivered, 2).await;
    assert_eq!(server.taken(), 2);
}

#[tokio::test]
async fn a_test_event_reaches_an_endpoint_that_asked_for_nothing_of_it() {
    let fixture = Fixture::new().await;
    let server = TestServer::start(Script::of([])).await;
    let only = EventFilter::Only(vec!["order.shipped".parse().unwrap()]);
    let to = fixture.endpoint(1, &server.url("/"), |endpoint| endpoint.events = only).await;
    fixture.send(["not for it"]).await;
    let test = fixture.node.send_test(to).await.unwrap();
    fixture.store.until_settled(DeliveryState::Delivered, 1).await;
    assert_eq!(server.taken(), 1);
    let message = fixture.store.message(test).await.unwrap().expect("it was accepted");
    assert_eq!(message.event_type.as_str(), "stagger.test");
}

#[tokio::test]
async fn replayed_deliveries_count_their_attempts_on() {
    let fixture = Fixture::new().await;
    let refused = || Reaction::status(422);
    let server = TestServer::start(Script::of([refused(), refused(), refused()])).await;
    let to = fixture.endpoint(1, &server.url("/"), |_| {}).await;
    let sent = fixture.send(["1", "2", "3"]).await;
    fixture.store.until_settled(DeliveryState::Dead, 3).await;

    let one = ReplayRequest::One(sent[0], to);
    assert_eq!(fixture.node.replay(one).await.unwrap(), 1);
    fixture.store.until_settled(DeliveryState::Delivered, 1).await;
    let many = ReplayRequest::Many(fixture.app, DeliveryFilter::default());
    assert_eq!(fixture.node.replay(many).await.unwrap(), 2);
    fixture.store.until_settled(DeliveryState::Delivered, 3).await;
    for message in sent {
        let delivery = fixture.delivery(message, to).await;
        assert_eq!((delivery.attempts, delivery.replays), (2, 1));
    }
    let view = fixture.node.view(to).await.expect("it is there");
    assert!(view.endpoint_state.recovering_since.is_some());
}
