//! A cluster with one application and one receiver.

use std::sync::Arc;
use std::time::Duration;

use stagger::Span;
use stagger_dispatch::node::{Node, NodeOptions};
use stagger_scheduler::model::*;
use stagger_sender::{SendOptions, Sender};
use stagger_store::testing::FaultyStore;
use stagger_store::{DeliveryStore, ShardId, Shards};
use stagger_testkit::server::{Script, TestServer};
use uuid::Uuid;

use crate::shared;
pub(crate) use crate::shared::{application, id, submission};

/// A node that died is replaced within this time. It is real time: a lease that a loaded machine can miss would be lost
/// in tests that are about something else.
const LEASE: Span = Span::from_secs(3);
/// The application that is told what happens to the others, where a test makes it.
pub(crate) const OPERATORS: ApplicationId = ApplicationId::from_uuid(Uuid::from_u128(99));
/// No test waits for longer than this.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(120);

/// Nodes on one store.
pub(crate) struct Fleet {
    pub(crate) memory: FaultyStore,
    pub(crate) nodes: Vec<Node>,
    pub(crate) server: TestServer,
    pub(crate) app: ApplicationId,
}

impl Fleet {
    /// Starts `count` nodes, each of which leads its share, and an application.
    pub(crate) async fn of(count: usize, script: Script) -> Self {
        let (memory, server) = (FaultyStore::shared(), TestServer::start(script).await);
        let app = ApplicationId::from_uuid(Uuid::from_u128(1));
        let mut fleet = Self { memory, nodes: Vec::new(), server, app };
        for _ in 0..count {
            let node = fleet.start().await;
            fleet.nodes.push(node);
        }
        fleet.until_even().await;
        fleet.nodes[0].put_application(application(app)).await.expect("it is stored");
        fleet
    }

    /// One more node.
    pub(crate) async fn start(&self) -> Node {
        self.start_on(Arc::new(self.memory.handle())).await
    }

    pub(crate) async fn start_on(&self, store: Arc<dyn DeliveryStore>) -> Node {
        let operational_events = Some(OPERATORS);
        let options = NodeOptions { lease: LEASE, operational_events, ..NodeOptions::default() };
        let allowed = SendOptions { allow_private: true, ..SendOptions::default() };
        let sender = Sender::new(allowed).expect("no certificates");
        Node::start(store, sender, options).await.expect("it joins")
    }

    /// Waits until all shards are led, evenly.
    pub(crate) async fn until_even(&self) {
        let count = self.nodes.len();
        let (least, most) = (Shards::COUNT / count, Shards::COUNT.div_ceil(count));
        until("the shards are spread evenly", || {
            let led: Vec<_> = self.nodes.iter().map(|node| node.led().len()).collect();
            let even = led.iter().all(|led| (least..=most).contains(led));
            even && led.iter().sum::<usize>() == Shards::COUNT
        })
        .await;
    }

    /// Adds endpoints 1 to `count`, each at its own path, through all nodes in turn.
    pub(crate) async fn endpoints(&self, count: u128) {
        for n in 1..=count {
            let node = &self.nodes[usize::try_from(n).expect("few") % self.nodes.len()];
            node.put_endpoint(self.endpoint(n)).await.expect("it is stored");
        }
    }

    pub(crate) fn endpoint(&self, n: u128) -> Endpoint {
        endpoint(self.app, n, &self.server.url(&format!("/{n}")))
    }

    /// The node that leads endpoint `n`.
    pub(crate) fn leader(&self, n: u128) -> usize {
        let shard = ShardId::of(id(n));
        self.nodes.iter().position(|node| node.led().contains(shard)).expect("somebody leads it")
    }

    /// A node that does not lead endpoint `n`.
    pub(crate) fn other(&self, n: u128) -> &Node {
        &self.nodes[(self.leader(n) + 1) % self.nodes.len()]
    }

    /// Sends a message by way of a node.
    pub(crate) async fn send(&self, node: &Node, payload: &str) -> MessageId {
        node.accept(self.app, vec![submission(payload)]).await.expect("there is room")[0].id
    }

    /// Waits until this many deliveries are in this state.
    pub(crate) async fn until_count(&self, state: DeliveryState, count: u64) {
        let store = self.memory.handle();
        let reached = async {
            while store.counts(None).await.expect("it reads").of(state) < count {
                tokio::task::yield_now().await;
            }
        };
        let reached = tokio::time::timeout(TIMEOUT, reached).await;
        reached.unwrap_or_else(|_| panic!("not {count} deliveries are {}", state.name()));
    }

    /// The messages that reached each path, with repetitions.
    pub(crate) fn received(&self) -> Vec<(String, String)> {
        let mut received: Vec<_> = self
            .server
            .seen()
            .iter()
            .map(|seen| {
                let id = seen.headers["webhook-id"].to_str().expect("it is text").to_owned();
                (seen.path.clone(), id)
            })
            .collect();
        received.sort();
        received
    }
}

/// Waits until something holds.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let reached = async {
        while !holds() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(TIMEOUT, reached).await.unwrap_or_else(|_| panic!("never: {what}"));
}

/// An endpoint that hardly ever gives up.
pub(crate) fn endpoint(application: ApplicationId, n: u128, url: &str) -> Endpoint {
    shared::endpoint(application, n, url, 100)
}
