//! Attempts that are aborted because another node may lead the endpoint.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use stagger::Span;
use stagger_scheduler::model::{
    Delivery, DeliveryState, Endpoint, EndpointState, Secret, SecretKind,
};
use stagger_sender::{SendOptions, Sender};
use stagger_store::testing::fixture;
use stagger_store::testing::fixture::{app, application, ep, message, msg};
use stagger_store::{DeliveryStore, MemoryStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::node::NodeOptions;
use crate::node::clock::EngineClock;
use crate::node::directory::{Directory, KnownEndpoint};
use crate::node::health::NodeHealth;
use crate::node::scheduler_state::{Inbox, SchedulerState};
use crate::node::start::{NodeParts, assemble};

/// A scheduler with an endpoint whose attempts a test answers by hand.
struct SchedulerFixture {
    store: Arc<MemoryStore>,
    directory: Arc<Directory>,
    health: Arc<NodeHealth>,
    inbox: Inbox,
    clock: EngineClock,
    receiver: TcpListener,
}

impl SchedulerFixture {
    async fn start() -> Self {
        let receiver = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", receiver.local_addr().unwrap());
        let store = Arc::new(MemoryStore::default());
        store.put_application(application(1)).await.unwrap();
        store.put_endpoint(endpoint(url.clone())).await.unwrap();
        store.accept(vec![message(1, 1, &[1])]).await.unwrap();
        let fence = store.begin_run().await.unwrap();
        let node_store: Arc<dyn DeliveryStore> = store.clone();
        let mut parts = parts(&node_store);
        let known = Arc::new(endpoint(url));
        let target = Arc::new(parts.settings_writer.sender.prepare(&known));
        parts.directory.put_endpoint(KnownEndpoint { endpoint: known, target });
        parts.runner.state.begin(fence);
        parts.runner.state.lead_until(None);
        let (inbox, clock) = (parts.runner.inbox.clone(), parts.runner.state.clock);
        tokio::spawn(parts.settler.run());
        tokio::spawn(parts.runner.run());
        let (directory, health) = (parts.directory, parts.health);
        Self { store, directory, health, inbox, clock, receiver }
    }

    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut SchedulerState) -> T + Send + 'static,
    ) -> T {
        within(self.inbox.ask(question)).await.expect("it runs")
    }

    /// Schedules the endpoint and its delivery, as a leader does.
    async fn lead(&self) {
        let (now, endpoint) = (self.clock.now(), self.directory.endpoint(ep(1)));
        let endpoint = endpoint.expect("it is known");
        self.ask(move |state| {
            state.scheduler.put_endpoint(now, &endpoint, Some(EndpointState::default()));
            state.add(&[Delivery::new(msg(1), ep(1), app(1), now)]);
        })
        .await;
    }

    async fn attempt(&self) -> TcpStream {
        let (mut socket, _) = within(self.receiver.accept()).await.unwrap();
        within(socket.read_u8()).await.unwrap();
        socket
    }

    async fn answer(&self, socket: &mut TcpStream) {
        socket.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
        self.until_idle().await;
        let flushed = self.ask(|state| state.flushed()).await;
        within(flushed.wait()).await.unwrap();
    }

    async fn until_idle(&self) {
        within(async { while self.ask(|state| state.scheduler.in_flight()).await > 0 {} }).await;
    }

    async fn stored(&self) -> (DeliveryState, u32, usize) {
        let delivery = self.store.delivery(msg(1), ep(1)).await.unwrap().unwrap();
        let attempts = self.store.attempts(msg(1), ep(1)).await.unwrap();
        (delivery.state, delivery.attempts, attempts.len())
    }
}

/// Waits until the other side has closed it.
async fn closed(mut socket: TcpStream) {
    // A reset says the same.
    _ = within(socket.read_to_end(&mut Vec::new())).await;
}

#[tokio::test]
async fn an_attempt_is_broken_off_when_the_time_is_over_and_made_again_when_there_is_more() {
    let fixture = SchedulerFixture::start().await;
    fixture.lead().await;
    let socket = fixture.attempt().await;
    let soon = fixture.clock.now() + Span::from_millis(20);
    fixture.ask(move |state| state.lead_until(Some(soon))).await;
    closed(socket).await;
    fixture.until_idle().await;
    let now = fixture.clock.now();
    assert!(now >= soon);
    let view = fixture.ask(move |state| state.scheduler.view(now, ep(1))).await.unwrap();
    assert_eq!((view.ready + view.waiting, view.in_flight), (1, 0), "it stays, and is not sent");
    assert_eq!(fixture.stored().await, (DeliveryState::Pending, 0, 0));

    fixture.ask(move |state| state.lead_until(None)).await;
    let mut again = fixture.attempt().await;
    fixture.answer(&mut again).await;
    assert_eq!(fixture.stored().await, (DeliveryState::Delivered, 1, 1));
}

#[tokio::test]
async fn a_node_that_forgets_all_breaks_off_and_can_begin_again() {
    let fixture = SchedulerFixture::start().await;
    fixture.lead().await;
    let socket = fixture.attempt().await;
    fixture.ask(SchedulerState::forget_all).await;
    closed(socket).await;
    fixture.until_idle().await;
    let left =
        fixture.ask(|state| (state.scheduler.len(), state.scheduler.endpoints().count())).await;
    assert_eq!(left, (0, 0));
    assert_eq!(fixture.stored().await, (DeliveryState::Pending, 0, 0));

    fixture.ask(|state| state.lead_until(None)).await;
    fixture.lead().await;
    let mut again = fixture.attempt().await;
    fixture.answer(&mut again).await;
    assert_eq!(fixture.stored().await, (DeliveryState::Delivered, 1, 1));
    assert_eq!(fixture.health.unsettled(), 0);
}

#[tokio::test]
async fn a_node_that_ends_breaks_off_when_its_time_is_over_however_patient_it_is() {
    let fixture = SchedulerFixture::start().await;
    fixture.lead().await;
    let socket = fixture.attempt().await;
    let now = fixture.clock.now();
    fixture
        .ask(move |state| {
            state.end(now + Span::from_secs(3_600));
            state.lead_until(Some(now));
        })
        .await;
    closed(socket).await;
    assert_eq!(fixture.stored().await, (DeliveryState::Pending, 0, 0));
}

/// The longest that a test waits for anything.
const BOUND: Duration = Duration::from_secs(60);

/// The parts of a node whose tasks do not run.
pub(super) fn parts(store: &Arc<dyn DeliveryStore>) -> NodeParts {
    let options = SendOptions { allow_private: true, ..SendOptions::default() };
    let sender = Sender::new(options).expect("no certificates");
    assemble(store, &sender, None, &NodeOptions::default())
}

/// Endpoint 1 of application 1, with an address.
pub(super) fn endpoint(url: String) -> Endpoint {
    let secrets = vec![Secret { kind: SecretKind::Symmetric, key: vec![7; 32], until: None }];
    Endpoint {
        url,
        secrets,
        headers: Vec::new(),
        auth: None,
        destination: None,
        handshake: false,
        ..fixture::endpoint(1, 1)
    }
}

pub(super) async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(BOUND, work).await.expect("it comes in time")
}
