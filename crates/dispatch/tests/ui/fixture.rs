//! A node with everything in it, and a browser's requests to its pages.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use stagger::breaker::BreakerPlan;
use stagger::{Instant, Policy, Span, StdTime};
use stagger_dispatch::access::OperatorFile;
use stagger_dispatch::api::{self, ApiOptions};
use stagger_dispatch::node::{Node, NodeOptions, Submission};
use stagger_dispatch::ui;
use stagger_dispatch::ui::UiOptions;
use stagger_scheduler::model::{
    Application, ApplicationId, Endpoint, EndpointId, KeyHash, MessageId, PortalAccess, SecretKind,
    Statuses,
};
use stagger_sender::{SendOptions, Sender, generate_secret};
use stagger_store::MemoryStore;
use stagger_testkit::server::{Reaction, Script, TestServer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use uuid::Uuid;

/// The body of the receivers' answers: a script that no page may run.
pub(crate) const HOSTILE: &str = "<script>document.title='broken in'</script>";

/// The admin key of the API.
pub(crate) const API_KEY: &str = "the key of the API";

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
        let node = node().await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let admin = Some(KeyHash::of(API_KEY));
        let base = Some(format!("http://{address}"));
        let api = ApiOptions { admin, base, ..ApiOptions::default() };
        let router = api::router(node.clone(), api).merge(ui::router(node.clone(), options));
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
            format!("/ui/endpoints/{failing}/edit"),
            format!("/ui/applications/{application}/endpoints"),
            "/ui/search?q=127.0.0.1".into(),
            "/ui/deliveries".into(),
            format!("/ui/deliveries?state=waiting&endpoint={failing}"),
            "/ui/dead".into(),
            "/ui/audit".into(),
            "/ui/operators".into(),
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

/// A file of operators of one test, which goes with it.
pub(crate) struct Operators {
    folder: PathBuf,
    pub(crate) file: OperatorFile,
}

impl Operators {
    pub(crate) fn new(test: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("stagger-page-{test}-{}", std::process::id()));
        let file = OperatorFile::open(&folder.join("operators.toml")).unwrap();
        Self { folder, file }
    }

    pub(crate) fn options(&self) -> UiOptions {
        let admin_key = Some(KeyHash::of("the right key"));
        UiOptions { admin_key, operators: self.file.clone(), ..UiOptions::default() }
    }
}

impl Drop for Operators {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

/// A node with a store in memory.
pub(crate) async fn node() -> Node {
    let send = SendOptions { allow_private: true, ..SendOptions::default() };
    let sender = Sender::new(send).unwrap();
    let store = Arc::new(MemoryStore::default());
    Node::start(store, sender, NodeOptions::default()).await.unwrap()
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
        labels: Default::default(),
        portal: PortalAccess::default(),
        retention: None,
        source: None,
        event_validation: None,
    }
}

fn endpoint(id: EndpointId, url: String) -> Endpoint {
    let breaker = BreakerPlan::builder().consecutive(1).build().unwrap();
    Endpoint {
        description: HOSTILE.into(),
        policy: Policy::webhook().to_builder().breaker(breaker).build().unwrap(),
        permanent: Statuses::try_from(vec![422]).unwrap(),
        secrets: vec![generate_secret(SecretKind::Symmetric).unwrap()],
        ..Endpoint::new(id, ApplicationId::from_uuid(Uuid::from_u128(1)), url, now())
    }
}

fn submission() -> Submission {
    let paid = "invoice.paid".parse().unwrap();
    let key = Some("order-1204".parse().unwrap());
    Submission { key, ..Submission::json(paid, Bytes::from_static(b"{\"id\": 42}")) }
}

pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Reply {
    /// The value of a header field.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let fields = self.head.lines().filter_map(|line| line.split_once(": "));
        fields.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }
}

pub(crate) async fn get(address: SocketAddr, path: &str, fields: &[&str]) -> Reply {
    exchange(address, &format!("GET {path} HTTP/1.1"), fields, "").await
}

/// A form, sent as our own page would.
pub(crate) async fn post(address: SocketAddr, path: &str, fields: &[&str], form: &str) -> Reply {
    let origin = format!("origin: http://{address}");
    let fields = [fields, &[origin.as_str()]].concat();
    post_from(address, path, &fields, form).await
}

/// A form from wherever `fields` say.
pub(crate) async fn post_from(
    address: SocketAddr,
    path: &str,
    fields: &[&str],
    form: &str,
) -> Reply {
    let length = format!("content-length: {}", form.len());
    let kind = "content-type: application/x-www-form-urlencoded";
    let fields = [fields, &[length.as_str(), kind]].concat();
    exchange(address, &format!("POST {path} HTTP/1.1"), &fields, form).await
}

/// A call of the API with a key.
pub(crate) async fn call(address: SocketAddr, line: &str, key: &str, body: &str) -> Reply {
    let key = format!("authorization: Bearer {key}");
    let length = format!("content-length: {}", body.len());
    let fields = [key.as_str(), length.as_str(), "content-type: application/json"];
    exchange(address, &format!("{line} HTTP/1.1"), &fields, body).await
}

async fn exchange(address: SocketAddr, line: &str, fields: &[&str], body: &str) -> Reply {
    let host = format!("host: {address}");
    let has_host = fields.iter().any(|field| field.starts_with("host:"));
    let mut head = vec![line, "connection: close"];
    head.extend(if has_host { None } else { Some(host.as_str()) });
    head.extend(fields);
    let request = format!("{}\r\n\r\n{body}", head.join("\r\n"));
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).await.unwrap();
    let reply = String::from_utf8(reply).unwrap();
    let (head, body) = reply.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Reply { status, head: head.into(), body: body.into() }
}

/// The paths of the routes in the source of a router.
pub(crate) fn paths_in(source: &str) -> BTreeSet<&str> {
    let calls = source.split("route(").skip(1);
    calls.filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next()).collect()
}
