//! The dispatcher of the demo: a node in this process, on a store that is deleted at the end.

use std::error::Error;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;
use std::{env, fs, process};

use stagger::breaker::BreakerPlan;
use stagger::budget::BudgetPlan;
use stagger::{Backoff, ConfigError, Instant, Jitter, Policy, Ratio, Span, StdTime};
use stagger_dispatch::IdGenerator;
use stagger_dispatch::model::{
    Application, ApplicationId, Endpoint, EndpointId, Pace, Recovery, SecretKind,
};
use stagger_dispatch::node::{Node, NodeOptions, Submission};
use stagger_dispatch::sender::{SendOptions, Sender, generate_secret};
use stagger_dispatch::store::{SqliteOptions, SqliteStore};
use stagger_dispatch::ui::{self, UiOptions};
use tokio::net::TcpListener;

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
    Application::new(id, "demo", slots, now)
}

fn endpoint(
    part: DemoEndpoint,
    id: EndpointId,
    application: ApplicationId,
    url: String,
) -> Result<Endpoint, Box<dyn Error>> {
    Ok(Endpoint {
        description: part.name().to_owned(),
        policy: part.policy()?,
        timeout: Span::from_secs(5),
        pace: part.pace(),
        secrets: vec![generate_secret(SecretKind::Symmetric)?],
        ..Endpoint::new(id, application, url, now())
    })
}

fn message(number: usize) -> Result<Submission, stagger_dispatch::Error> {
    Ok(Submission::json("demo.event".parse()?, format!(r#"{{"number":{number}}}"#)))
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

/// The first ceiling and the last: short, so that a story of hours is over in seconds.
const BASE: Span = Span::from_secs(1);
const CAP: Span = Span::from_secs(4);
/// More than the outage takes.
const ATTEMPTS: u32 = 50;
/// Enough to let a herd through: what holds it back must be the policy.
const CONCURRENCY: NonZeroU32 = NonZeroU32::new(128).expect("above zero");

/// The retry policy of one endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DemoEndpoint {
    /// Doubling delays, all alike.
    Unjittered,
    /// The same ceilings, drawn at random.
    Jittered,
    /// Besides: a breaker, and a backlog that leaves slowly.
    Guarded,
}

impl DemoEndpoint {
    pub(super) const ALL: [Self; 3] = [Self::Unjittered, Self::Jittered, Self::Guarded];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Unjittered => "no jitter",
            Self::Jittered => "full jitter",
            Self::Guarded => "breaker and ramp",
        }
    }

    /// The policy. The endpoint's breaker is in it; the first two have one that never opens.
    pub(super) fn policy(self) -> Result<Policy, ConfigError> {
        let jitter = if self == Self::Unjittered { Jitter::None } else { Jitter::Full };
        let breaker = BreakerPlan::builder().throttled_fails(true);
        let breaker = match self {
            Self::Guarded => {
                breaker.consecutive(5).open_time(BASE).open_cap(Span::from_millis(1_500))
            }
            _ => breaker.ratio(None).consecutive(u32::MAX),
        };
        Policy::builder()
            .backoff(Backoff::exponential(BASE, CAP)?.with_jitter(jitter)?)
            .max_attempts(ATTEMPTS)
            .budget(BudgetPlan::Unlimited)
            .breaker(breaker.build()?)
            .build()
    }

    pub(super) fn pace(self) -> Pace {
        let rate = const { NonZeroU32::new(200).expect("above zero") };
        let recovery = Recovery { from: Ratio::from_percent(10), rate, over: Span::from_secs(2) };
        Pace { concurrency: CONCURRENCY, rate: None, recovery }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_differ_in_jitter_and_breaker_only() {
        let [plain, jittered, guarded] = DemoEndpoint::ALL
            .map(|part| part.policy().expect("the settings are within their bounds"));
        assert_eq!(plain.backoff().jitter(), Jitter::None);
        assert_eq!(jittered.backoff(), guarded.backoff());
        assert_eq!(plain.breaker(), jittered.breaker());
        for k in 1..10 {
            assert_eq!(plain.backoff().ceiling(k), jittered.backoff().ceiling(k));
        }
    }
}
