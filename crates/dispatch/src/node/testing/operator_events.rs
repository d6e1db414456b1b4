//! The events that the operator is told, in virtual time: attempts are answered by hand.

use std::sync::Arc;

use serde_json::Value;
use stagger::{Instant, OsEntropy};
use stagger_scheduler::NextLaunch;
use stagger_scheduler::model::{
    AttemptAnswer, Delivery, DeliveryState, Disabled, Endpoint, EndpointState, Statuses,
};
use stagger_store::testing::fixture;
use stagger_store::testing::fixture::{app, application, ep, message, msg};
use stagger_store::{DeliveryStore, Fence, MemoryStore, MessageFilter};

use crate::node::NodeOptions;
use crate::node::directory::KnownEndpoint;
use crate::node::runner::Runner;
use crate::node::settler::Settler;
use crate::node::start::assemble;

/// A node that tells application 2 of application 1.
struct OperatorFixture {
    store: Arc<MemoryStore>,
    runner: Runner,
    settler: Settler,
    fence: Fence,
    sent: u64,
}

impl OperatorFixture {
    /// Another run on a store, with endpoint 1 of application 1; endpoint 2 of application 2 is told.
    async fn start(store: Arc<MemoryStore>) -> Self {
        for n in [1, 2] {
            store.put_application(application(n)).await.unwrap();
        }
        for endpoint in [observed(), told()] {
            store.put_endpoint(endpoint).await.unwrap();
        }
        let fence = store.begin_run().await.unwrap();
        let shared: Arc<dyn DeliveryStore> = store.clone();
        let sender = stagger_sender::Sender::new(stagger_sender::SendOptions {
            allow_private: true,
            ..stagger_sender::SendOptions::default()
        });
        let options = NodeOptions {
            operational_events: Some(app(2)),
            app_max_open: Some(200),
            ..NodeOptions::default()
        };
        let parts = assemble(&shared, &sender.unwrap(), None, &options);
        for n in [1, 2] {
            parts.directory.put_application(application(n));
        }
        for endpoint in [observed(), told()] {
            let endpoint = Arc::new(endpoint);
            let target = Arc::new(parts.settings_writer.sender.prepare(&endpoint));
            parts.directory.put_endpoint(KnownEndpoint { endpoint, target });
        }
        let (mut runner, settler) = (parts.runner, parts.settler);
        runner.state.begin(fence);
        runner.state.lead_until(None);
        let now = runner.state.clock.now();
        for (endpoint, state) in store.endpoints().await.unwrap() {
            runner.state.scheduler.put_endpoint(now, &endpoint, Some(state));
            runner.state.remember(endpoint.id, state);
        }
        let sent = store.counts(None).await.unwrap();
        let sent = DeliveryState::ALL.iter().map(|state| sent.of(*state)).sum::<u64>() * 10;
        Self { store, runner, settler, fence, sent }
    }

    /// Accepts a message and makes its attempt, which gets this status.
    async fn attempt(&mut self, status: u16) {
        self.sent += 1;
        let n = self.sent;
        self.store.accept(vec![message(n, 1, &[1])]).await.unwrap();
        let now = self.now();
        self.runner.state.add(&[Delivery::new(msg(n), ep(1), app(1), now)]);
        self.answer(status);
    }

    /// Answers the attempt that is due.
    fn answer(&mut self, status: u16) {
        let now = self.now();
        let NextLaunch::Send(launch) = self.runner.state.scheduler.next(now, &mut OsEntropy) else {
            panic!("an attempt is due");
        };
        let answer = AttemptAnswer { result: Ok(status), ..AttemptAnswer::not_made() };
        self.runner.settle(launch, answer, false);
    }

    fn now(&self) -> Instant {
        self.runner.state.clock.now()
    }

    /// Lets time pass, in seconds, as the scheduler's task would.
    async fn pass(&mut self, seconds: u64) {
        tokio::time::advance(std::time::Duration::from_secs(seconds)).await;
        self.runner.state.report_due_events();
    }

    /// The events that are stored, oldest first, once all settlements are.
    async fn events(&mut self) -> Vec<(String, Value)> {
        let mut batch = Vec::new();
        while let Ok(queued) = self.settler.queue.try_recv() {
            batch.extend(queued.settlement);
        }
        self.store.settle(self.fence, batch).await.unwrap();
        let page = fixture::page(250);
        let page = self.store.messages(app(2), MessageFilter::default(), page).await.unwrap();
        let mut events = Vec::new();
        for message in page.items.into_iter().rev() {
            let payload = self.store.payload(message.id).await.unwrap().unwrap();
            let body: Value = serde_json::from_slice(&payload).unwrap();
            assert_eq!(body["type"], message.event_type.as_str());
            events.push((message.event_type.as_str().to_owned(), body["data"].clone()));
        }
        events
    }

    async fn names(&mut self) -> Vec<String> {
        self.events().await.into_iter().map(|(name, _)| name).collect()
    }

    async fn stored(&self) -> EndpointState {
        self.store.endpoints().await.unwrap()[0].1
    }

    fn next_probe(&self) -> Option<Instant> {
        self.runner.state.scheduler.view(self.now(), ep(1)).unwrap().next_probe
    }

    /// Waits until the breaker lets a probe pass, and answers it.
    async fn probe(&mut self, status: u16) {
        let wait = self.next_probe().expect("the breaker is open") - self.now();
        self.pass(wait.as_nanos() / 1_000_000_000 + 1).await;
        self.attempt(status).await;
    }
}

/// A status that it lists ends a delivery.
fn observed() -> Endpoint {
    let url = "http://127.0.0.1:9/hook?token=secret";
    let permanent = Statuses::try_from(vec![422]).unwrap();
    Endpoint { permanent, ..Endpoint::new(ep(1), app(1), url, Instant::ORIGIN) }
}

fn told() -> Endpoint {
    Endpoint::new(ep(2), app(2), "http://127.0.0.1:9/", Instant::ORIGIN)
}

#[tokio::test(start_paused = true)]
async fn one_trouble_is_told_once_and_its_end_once() {
    let mut fixture = OperatorFixture::start(Arc::default()).await;
    for _ in 0..5 {
        fixture.attempt(500).await;
    }
    assert_eq!(fixture.names().await, ["endpoint.failing"]);
    // It flaps: the probe succeeds, and it fails again within the minute.
    for _ in 0..3 {
        fixture.probe(200).await;
        fixture.pass(20).await;
        while fixture.next_probe().is_none() {
            fixture.pass(1).await;
            fixture.attempt(500).await;
        }
    }
    assert_eq!(fixture.names().await, ["endpoint.failing"]);
    assert!(fixture.stored().await.alerted_since.is_some());
    fixture.probe(200).await;
    fixture.pass(59).await;
    assert_eq!(fixture.names().await.len(), 1);
    fixture.pass(2).await;
    let events = fixture.events().await;
    let names: Vec<_> = events.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["endpoint.failing", "endpoint.recovered"]);
    let (failing, recovered) = (&events[0].1, &events[1].1);
    assert_eq!(failing["endpoint"], ep(1).to_string());
    assert_eq!(
        (&failing["application"], &failing["status"]),
        (&app(1).to_string().into(), &500.into())
    );
    assert!(failing["failing_since"].is_string() && recovered["alerted_since"].is_string());
    assert_eq!(failing["url"], "http://127.0.0.1:9/hook", "without what may be secret");
    assert_eq!(fixture.stored().await.alerted_since, None);
    fixture.pass(600).await;
    assert_eq!(fixture.names().await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn another_run_goes_on_where_the_last_one_was() {
    let store = Arc::<MemoryStore>::default();
    let mut first = OperatorFixture::start(store.clone()).await;
    for _ in 0..5 {
        first.attempt(500).await;
    }
    assert_eq!(first.names().await, ["endpoint.failing"]);
    let mut second = OperatorFixture::start(store.clone()).await;
    second.probe(500).await;
    assert_eq!(second.names().await, ["endpoint.failing"], "it was told before");
    // The former run stores nothing any more, so it tells nothing either.
    first
        .runner
        .state
        .change(ep(1), |scheduler, now| scheduler.disable(now, ep(1), Disabled::ByHand));
    let queued = first.settler.queue.try_recv().unwrap().settlement.unwrap();
    assert_eq!(queued.operational.len(), 1);
    assert!(store.settle(first.fence, vec![queued]).await.unwrap_err().is_conflict());
    second.probe(200).await;
    assert_eq!(second.names().await, ["endpoint.failing"]);
    let mut third = OperatorFixture::start(store.clone()).await;
    third.pass(59).await;
    assert_eq!(third.names().await.len(), 1);
    third.pass(2).await;
    assert_eq!(third.names().await, ["endpoint.failing", "endpoint.recovered"]);
    let mut fourth = OperatorFixture::start(store).await;
    fourth.pass(600).await;
    assert_eq!(fourth.names().await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_is_disabled_is_told_with_the_reason() {
    let mut fixture = OperatorFixture::start(Arc::default()).await;
    fixture.attempt(410).await;
    let enable = |fixture: &mut OperatorFixture| {
        fixture.runner.state.change(ep(1), |scheduler, now| scheduler.enable(now, ep(1)));
    };
    let disable = |fixture: &mut OperatorFixture| {
        fixture
            .runner
            .state
            .change(ep(1), |scheduler, now| scheduler.disable(now, ep(1), Disabled::ByHand));
    };
    assert_eq!(fixture.events().await[0].1["reason"], "gone");
    enable(&mut fixture);
    fixture.answer(200);
    fixture.pass(61).await;
    assert_eq!(fixture.names().await, ["endpoint.disabled", "endpoint.recovered"]);
    disable(&mut fixture);
    disable(&mut fixture);
    enable(&mut fixture);
    fixture.pass(61).await;
    let events = fixture.events().await;
    assert_eq!(events.len(), 3, "it was well when it was disabled: {events:?}");
    assert_eq!(
        (events[2].0.as_str(), &events[2].1["reason"]),
        ("endpoint.disabled", &"by_hand".into())
    );
}

#[tokio::test(start_paused = true)]
async fn exhausted_deliveries_are_counted_and_told_once_a_second() {
    let mut fixture = OperatorFixture::start(Arc::default()).await;
    // Refusals that end a delivery are no failure to the breaker, and all are sent.
    for _ in 0..40 {
        fixture.attempt(422).await;
    }
    assert_eq!(fixture.names().await, ["delivery.exhausted"]);
    fixture.pass(1).await;
    fixture.pass(1).await;
    fixture.attempt(422).await;
    let events = fixture.events().await;
    let counts: Vec<_> = events.iter().map(|(_, data)| data["count"].as_u64().unwrap()).collect();
    assert_eq!(counts, [1, 39, 1]);
    let first = &events[0].1;
    assert_eq!((&first["status"], &first["attempts"]), (&422.into(), &1.into()));
    assert_eq!(first["message"], msg(1).to_string());
}

/// The members of `data` in the example of the documents.
fn documented(name: &str) -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/dispatcher.md");
    let text = std::fs::read_to_string(path).unwrap();
    let start = format!(r#"{{"type": "{name}""#);
    let example = text.lines().find(|line| line.starts_with(&start)).expect("there is an example");
    let example: Value = serde_json::from_str(example).expect("JSON");
    let mut names: Vec<_> = example["data"].as_object().unwrap().keys().cloned().collect();
    names.sort();
    names
}

#[tokio::test(start_paused = true)]
async fn events_have_the_members_that_the_documents_show() {
    let mut fixture = OperatorFixture::start(Arc::default()).await;
    fixture.attempt(422).await;
    for _ in 0..5 {
        fixture.attempt(500).await;
    }
    fixture.probe(200).await;
    fixture.pass(61).await;
    fixture.attempt(410).await;
    let events = fixture.events().await;
    assert_eq!(events.len(), 4, "{events:?}");
    for (name, data) in events {
        let mut names: Vec<_> = data.as_object().unwrap().keys().cloned().collect();
        names.sort();
        assert_eq!(names, documented(&name), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_operators_own_application_causes_no_event_and_takes_no_more_than_its_share() {
    let mut fixture = OperatorFixture::start(Arc::default()).await;
    fixture
        .runner
        .state
        .change(ep(2), |scheduler, now| scheduler.disable(now, ep(2), Disabled::ByHand));
    assert_eq!(fixture.names().await, [""; 0]);
    fixture.runner.state.health.set_open_of(app(2), 200);
    fixture.attempt(410).await;
    assert_eq!(fixture.names().await, [""; 0], "its backlog is as large as it may be");
    fixture.runner.state.health.set_open_of(app(2), 0);
    let toggle = |fixture: &mut OperatorFixture| {
        let state = &mut fixture.runner.state;
        state.change(ep(1), |scheduler, now| scheduler.enable(now, ep(1)));
        state.change(ep(1), |scheduler, now| scheduler.disable(now, ep(1), Disabled::ByHand));
    };
    toggle(&mut fixture);
    assert_eq!(fixture.names().await, ["endpoint.failing", "endpoint.disabled"], "it is told late");
}
