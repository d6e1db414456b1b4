//! A node with one application.

use std::sync::Arc;

use stagger_dispatch::Error;
use stagger_dispatch::node::{Node, NodeOptions};
use stagger_scheduler::model::*;
use stagger_sender::{SendOptions, Sender};
use stagger_store::{DeliveryStore, MemoryStore};
use uuid::Uuid;

use crate::shared;
pub(crate) use crate::shared::{application, id, submission};
use crate::spied::Spied;

/// A running node.
pub(crate) struct Fixture {
    pub(crate) store: Arc<Spied>,
    pub(crate) node: Node,
    pub(crate) app: ApplicationId,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        let store = Spied::new(MemoryStore::default());
        let app = ApplicationId::from_uuid(Uuid::from_u128(1));
        let node = start(store.clone()).await;
        node.put_application(application(app)).await.expect("it is stored");
        Self { store, node, app }
    }

    /// Adds endpoint `n`, changed by `change`.
    pub(crate) async fn endpoint(
        &self,
        n: u128,
        url: &str,
        change: impl FnOnce(&mut Endpoint),
    ) -> EndpointId {
        let mut endpoint = endpoint(self.app, n, url);
        change(&mut endpoint);
        self.node.put_endpoint(endpoint).await.expect("it is stored");
        id(n)
    }

    /// Sends messages with these payloads.
    pub(crate) async fn send<const N: usize>(&self, payloads: [&str; N]) -> Vec<MessageId> {
        self.try_send(payloads).await.expect("there is room")
    }

    pub(crate) async fn try_send<const N: usize>(
        &self,
        payloads: [&str; N],
    ) -> Result<Vec<MessageId>, Error> {
        let messages = payloads.map(submission).into();
        let accepted = self.node.accept(self.app, messages).await?;
        Ok(accepted.into_iter().map(|accepted| accepted.id).collect())
    }

    pub(crate) async fn delivery(&self, message: MessageId, endpoint: EndpointId) -> Delivery {
        self.store.delivery(message, endpoint).await.expect("it reads").expect("it was accepted")
    }

    /// Ends the node as a crash does, and starts another on the same store.
    pub(crate) async fn crash(self) -> Self {
        let Self { store, node, app } = self;
        drop(node);
        let node = start(store.clone()).await;
        Self { store, node, app }
    }
}

/// An endpoint that gives up after six attempts.
pub(crate) fn endpoint(application: ApplicationId, n: u128, url: &str) -> Endpoint {
    shared::endpoint(application, n, url, 6)
}

pub(crate) fn sender() -> Sender {
    let origin = Some("hooks.example".to_owned());
    Sender::new(SendOptions { allow_private: true, origin, ..SendOptions::default() })
        .expect("no certificates")
}

pub(crate) async fn start(store: Arc<dyn DeliveryStore>) -> Node {
    Node::start(store, sender(), NodeOptions::default()).await.expect("it loads")
}
