//! A node with one application, and what tests do with it.

use std::num::NonZeroU32;
use std::sync::Arc;

use stagger::budget::BudgetPlan;
use stagger::{Backoff, Instant, Policy, Span};
use stagger_dispatch::Error;
use stagger_dispatch::model::*;
use stagger_dispatch::node::{Node, NodeOptions, Submission};
use stagger_dispatch::send::{SendOptions, Sender};
use stagger_dispatch::store::{MemoryStore, Store};
use uuid::Uuid;

use crate::spied::Spied;

/// A running node.
pub(crate) struct Scene {
    pub(crate) store: Arc<Spied>,
    pub(crate) node: Node,
    pub(crate) app: ApplicationId,
}

impl Scene {
    pub(crate) async fn new() -> Self {
        let store = Spied::new(MemoryStore::default());
        let app = ApplicationId::from_uuid(Uuid::from_u128(1));
        let node = start(store.clone()).await;
        let slots = NonZeroU32::new(1000).expect("above zero");
        let (name, created_at) = ("shop".to_owned(), Instant::ORIGIN);
        let application = Application { id: app, name, keys: vec![], slots, created_at };
        node.put_application(application).await.expect("it is stored");
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

pub(crate) fn submission(payload: &str) -> Submission {
    Submission {
        event_type: "invoice.paid".parse().expect("a type"),
        payload: payload.to_owned().into(),
        content_type: "application/json".to_owned(),
        key: None,
    }
}

pub(crate) fn id(n: u128) -> EndpointId {
    EndpointId::from_uuid(Uuid::from_u128(n))
}

/// An endpoint whose retries come after 10 to 20 ms at most.
pub(crate) fn endpoint(application: ApplicationId, n: u128, url: &str) -> Endpoint {
    let backoff =
        Backoff::exponential(Span::from_millis(10), Span::from_millis(20)).expect("it fits");
    let policy = Policy::builder()
        .backoff(backoff)
        .max_attempts(6)
        .budget(BudgetPlan::Unlimited)
        .build()
        .expect("it is valid");
    Endpoint {
        id: id(n),
        application,
        url: url.to_owned(),
        description: String::new(),
        events: EventFilter::All,
        policy,
        timeout: Span::from_secs(30),
        pace: Pace::default(),
        ordered: false,
        permanent: Statuses::try_from(vec![422]).expect("a status"),
        disable_after: Span::from_secs(432_000),
        secrets: vec![Secret { kind: SecretKind::Symmetric, key: vec![7; 32], until: None }],
        headers: vec![],
        created_at: Instant::ORIGIN,
        updated_at: Instant::ORIGIN,
    }
}

pub(crate) fn sender() -> Sender {
    Sender::new(SendOptions { allow_private: true, ..SendOptions::default() })
        .expect("no certificates")
}

pub(crate) async fn start(store: Arc<dyn Store>) -> Node {
    Node::start(store, sender(), NodeOptions::default()).await.expect("it loads")
}
