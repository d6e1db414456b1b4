//! The dispatcher of the demo: a node in this process, on a store that is deleted at the end.

use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;
use std::{env, fs, process};

use bytes::Bytes;
use stagger::{Instant, Span, StdTime};
use stagger_dispatch::model::{
    Application, ApplicationId, Endpoint, EndpointId, EventFilter, IdGenerator, Secret, SecretKind,
    Statuses,
};
use stagger_dispatch::node::{Node, NodeOptions, Submission};
use stagger_dispatch::send::{SendOptions, Sender};
use stagger_dispatch::store::{SqliteOptions, SqliteStore};
use stagger_dispatch::ui::{self, UiOptions};
use tokio::net::TcpListener;

use super::endpoint::DemoEndpoint;

/// Messages that are sent.
pub(super) const EVENTS: usize = 1000;

/// A dispatcher with one application and its endpoints.
#[derive(Debug)]
pub(super) struct DemoDispatcher {
    pub(super) node: Node,
    pub(super) endpoints: [EndpointId; DemoEndpoint::ALL.len()],
    /// The address of the operator's page.
    pub(super) page: SocketAddr,
    application: ApplicationId,
    folder: Folder,
}

impl DemoDispatcher {
    /// Starts it; its endpoints are at `receiver`.
    pub(super) async fn start(receiver: SocketAddr) -> Result<Self, Box<dyn Error>> {
        let folder = Folder::new();
        let store = SqliteStore::open(&folder.0, SqliteOptions::default())?;
        let sender = Sender::new(SendOptions { allow_private: true, ..SendOptions::default() })?;
        let node = Node::start(Arc::new(store), sender, NodeOptions::default()).await?;
        let (id_generator, now) = (IdGenerator::default(), now());
        let application = ApplicationId::from_uuid(id_generator.make(now)?);
        let endpoints = || id_generator.make(now).map(EndpointId::from_uuid);
        let endpoints = [endpoints()?, endpoints()?, endpoints()?];
        node.put_application(tenant(application, now)).await?;
        for (part, id) in DemoEndpoint::ALL.into_iter().zip(endpoints) {
            let url = format!("http://{receiver}/{}", part as usize);
            node.put_endpoint(endpoint(part, id, application, url)?).await?;
        }
        let page = serve_page(&node).await?;
        Ok(Self { node, endpoints, page, application, folder })
    }

    /// Sends all messages at once; all of them are durable when it returns.
    pub(super) async fn send(&self) -> Result<(), Box<dyn Error>> {
        let messages = (0..EVENTS).map(message).collect::<Result<_, _>>()?;
        self.node.accept(self.application, messages).await?;
        Ok(())
    }

    /// Ends it, and removes its store.
    pub(super) async fn end(self) {
        self.node.shutdown(Span::from_secs(2)).await;
        drop(self.folder);
    }
}

fn tenant(id: ApplicationId, now: Instant) -> Application {
    let slots = NodeOptions::default().slots;
    Application { id, name: "demo".to_owned(), keys: Vec::new(), slots, created_at: now }
}

fn endpoint(
    part: DemoEndpoint,
    id: EndpointId,
    application: ApplicationId,
    url: String,
) -> Result<Endpoint, Box<dyn Error>> {
    let now = now();
    Ok(Endpoint {
        id,
        application,
        url,
        description: part.name().to_owned(),
        events: EventFilter::All,
        policy: part.policy()?,
        timeout: Span::from_secs(5),
        pace: part.pace(),
        ordered: false,
        permanent: Statuses::default(),
        disable_after: Span::from_secs(5 * 24 * 60 * 60),
        secrets: vec![Secret::generate(SecretKind::Symmetric)?],
        headers: Vec::new(),
        created_at: now,
        updated_at: now,
    })
}

fn message(number: usize) -> Result<Submission, stagger_dispatch::Error> {
    Ok(Submission {
        event_type: "demo.event".parse()?,
        payload: Bytes::from(format!(r#"{{"number":{number}}}"#)),
        content_type: "application/json".to_owned(),
        key: None,
    })
}

/// The page needs no key here: it answers under names of this machine only, and holds made-up data.
async fn serve_page(node: &Node) -> Result<SocketAddr, Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let addr = listener.local_addr()?;
    let routes = ui::router(node.clone(), UiOptions::default());
    tokio::spawn(async move { axum::serve(listener, routes).await });
    Ok(addr)
}

/// The wall clock.
fn now() -> Instant {
    let since = StdTime::wall().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Instant::ORIGIN + Span::from(since)
}

/// A folder of this process, gone when it is dropped.
#[derive(Debug)]
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        Self(env::temp_dir().join(format!("stagger-demo-{}", process::id())))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is left to the system.
        let _ = fs::remove_dir_all(&self.0);
    }
}
