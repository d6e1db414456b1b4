//! A dispatcher that has seen something: one endpoint that is well, one that fails, one that is gone
//! and one that says no for good.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;

use bytes::Bytes;
use stagger::breaker::BreakerPlan;
use stagger::{Instant, Policy, Span, StdTime};
use stagger_dispatch::model::{
    Application, ApplicationId, Endpoint, EndpointId, EventFilter, MessageId, Pace, Secret,
    SecretKind, Statuses,
};
use stagger_dispatch::node::{Node, NodeOptions, Submission};
use stagger_dispatch::send::{SendOptions, Sender};
use stagger_dispatch::store::MemoryStore;
use stagger_dispatch::ui::{self, UiOptions};
use stagger_testkit::server::{Reaction, Script, TestServer};
use tokio::net::TcpListener;
use uuid::Uuid;

/// The body of the receivers' answers: a script that no page may run.
pub(crate) const HOSTILE: &str = "<script>document.title='broken in'</script>";

pub(crate) struct Fixture {
    pub(crate) address: SocketAddr,
    pub(crate) node: Node,
    pub(crate) application: ApplicationId,
    pub(crate) message: MessageId,
    pub(crate) well: EndpointId,
    pub(crate) failing: EndpointId,
    pub(crate) strict: EndpointId,
    _receivers: TestServer,
}

impl Fixture {
    pub(crate) async fn empty(options: UiOptions) -> (SocketAddr, Node) {
        let send = SendOptions { allow_private: true, ..SendOptions::default() };
        let sender = Sender::new(send).unwrap();
        let store = Arc::new(MemoryStore::default());
        let node = Node::start(store, sender, NodeOptions::default()).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = ui::router(node.clone(), options);
        tokio::spawn(async move { axum::serve(listener, router).await });
        (address, node)
    }

    pub(crate) async fn set(options: UiOptions) -> Self {
        let (address, node) = Self::empty(options).await;
        let says = |status| Script::always(Reaction::status(status).body(HOSTILE));
        let script = Script::always(Reaction::ok(HOSTILE))
            .on_path("/failing", says(500))
            .on_path("/gone", says(410))
            .on_path("/strict", says(422));
        let receivers = TestServer::start(script).await;
        let application = application();
        node.put_application(application.clone()).await.unwrap();
        let ids = [2, 3, 4, 5].map(|n| EndpointId::from_uuid(Uuid::from_u128(n)));
        for (id, path) in ids.into_iter().zip(["/well", "/failing", "/gone", "/strict"]) {
            node.put_endpoint(endpoint(id, receivers.url(path))).await.unwrap();
        }
        let accepted = node.accept(application.id, vec![submission()]).await.unwrap();
        let [well, failing, gone, strict] = ids;
        let message = accepted[0].id;
        let fixture = Self {
            address,
            node,
            application: application.id,
            message,
            well,
            failing,
            strict,
            _receivers: receivers,
        };
        for endpoint in [well, failing, gone, strict] {
            fixture.until_attempted(endpoint).await;
        }
        fixture
    }

    /// Every page with everything in it.
    pub(crate) fn paths(&self) -> Vec<String> {
        let Self { application, message, well, failing, strict, .. } = self;
        vec![
            "/".into(),
            "/ui/applications".into(),
            format!("/ui/applications/{application}"),
            format!("/ui/endpoints/{well}"),
            format!("/ui/endpoints/{failing}"),
            "/ui/deliveries".into(),
            format!("/ui/deliveries?state=waiting&endpoint={failing}"),
            "/ui/dead".into(),
            format!("/ui/deliveries/{message}/{strict}"),
            format!("/ui/deliveries/{message}/{failing}"),
        ]
    }

    /// Until the first attempt at the message is stored.
    async fn until_attempted(&self, endpoint: EndpointId) {
        loop {
            let delivery = self.node.store().delivery(self.message, endpoint).await.unwrap();
            if delivery.is_some_and(|delivery| delivery.attempts > 0) {
                return;
            }
            tokio::task::yield_now().await;
        }
    }
}

fn now() -> Instant {
    Instant::ORIGIN + Span::from(StdTime::wall().duration_since(std::time::UNIX_EPOCH).unwrap())
}

fn application() -> Application {
    Application {
        id: ApplicationId::from_uuid(Uuid::from_u128(1)),
        name: "Acme & Sons".into(),
        keys: Vec::new(),
        slots: NonZeroU32::new(64).unwrap(),
        created_at: now(),
    }
}

fn endpoint(id: EndpointId, url: String) -> Endpoint {
    let breaker = BreakerPlan::builder().consecutive(1).build().unwrap();
    Endpoint {
        id,
        application: ApplicationId::from_uuid(Uuid::from_u128(1)),
        url,
        description: HOSTILE.into(),
        events: EventFilter::All,
        policy: Policy::webhook().unwrap().to_builder().breaker(breaker).build().unwrap(),
        timeout: Span::from_secs(30),
        pace: Pace::default(),
        ordered: false,
        permanent: Statuses::try_from(vec![422]).unwrap(),
        disable_after: Span::from_secs(432_000),
        secrets: vec![Secret::generate(SecretKind::Symmetric).unwrap()],
        headers: Vec::new(),
        created_at: now(),
        updated_at: now(),
    }
}

fn submission() -> Submission {
    Submission {
        event_type: "invoice.paid".parse().unwrap(),
        payload: Bytes::from_static(b"{\"id\": 42}"),
        content_type: "application/json".into(),
        key: Some("order-1204".parse().unwrap()),
    }
}
