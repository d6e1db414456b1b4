//! The proxy: a client without any retry, whose calls go through a proxy in this process.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::Full;
use serde::Deserialize;
use stagger::{LocalLedger, Policy, Stop};
use stagger_proxy::config::{AddedKey, ProxySettings};
use stagger_proxy::{DestinationLedger, Proxy};
use tokio::sync::Mutex;

use crate::asynch::HyperPool;
use crate::{Ask, CallOutcome, ContractCaller, Integration, Later};

/// A plain client of a proxy, whose route has the policy.
#[derive(Clone, Copy, Debug)]
pub struct ThroughProxy;

impl Integration for ThroughProxy {
    fn name(&self) -> &'static str {
        "proxy"
    }

    fn caller(&self, policy: Policy, ledger: Arc<LocalLedger>) -> ContractCaller {
        calling(Proxies::new(policy, Some(ledger)), HyperPool::new())
    }

    fn client(&self, policy: Policy) -> ContractCaller {
        calling(Proxies::new(policy, None), HyperPool::new())
    }

    /// The caller of the client says by a header that it retries.
    fn nested(
        &self,
        policy: Policy,
        ledger: Arc<LocalLedger>,
        ask: Ask,
    ) -> Later<Vec<CallOutcome>> {
        let (proxies, pool) = (Proxies::new(policy, Some(ledger)), HyperPool::new());
        Box::pin(async move { vec![send(&proxies, pool, ask, Some(1)).await] })
    }

    fn waives(&self, promise: &str) -> Option<&'static str> {
        match promise {
            "body that breaks off is retried" | "time limit ends a body that stalls" => {
                Some("the first byte of a reply commits it: the caller may have read it")
            }
            _ => None,
        }
    }
}

fn calling(proxies: Proxies, pool: HyperPool) -> ContractCaller {
    let proxies = Arc::new(proxies);
    Box::new(move |ask| {
        let (proxies, pool) = (Arc::clone(&proxies), pool.clone());
        Box::pin(async move { send(&proxies, pool, ask, None).await })
    })
}

async fn send(proxies: &Proxies, pool: HyperPool, ask: Ask, attempt: Option<u32>) -> CallOutcome {
    let sent = async {
        let mut request = proxies.request(&ask).await?;
        if let Some(attempt) = attempt {
            request.headers_mut().insert("stagger-attempt", attempt.into());
        }
        pool.send(request).await
    };
    match sent.await {
        Ok(reply) => ended(reply),
        Err(error) => CallOutcome::failed(&error),
    }
}

/// A refusal of the proxy's own is no reply.
fn ended(reply: Response<Bytes>) -> CallOutcome {
    if !reply.headers().contains_key("stagger-stop") {
        return CallOutcome { result: Ok(reply), stop: None, attempts: None };
    }
    match serde_json::from_slice::<Problem>(reply.body()) {
        Ok(problem) => {
            let stop = STOPS.into_iter().find(|stop| stop.name() == problem.stop);
            CallOutcome { result: Err(problem.detail), stop, attempts: Some(problem.attempts) }
        }
        Err(error) => CallOutcome::failed(&error),
    }
}

/// The reasons that checks look for.
const STOPS: [Stop; 9] = [
    Stop::AttemptsExhausted,
    Stop::NotReplayable,
    Stop::NotIdempotent,
    Stop::DeadlineExceeded,
    Stop::BudgetEmpty,
    Stop::BreakerOpen,
    Stop::Throttled,
    Stop::ConcurrencyLimited,
    Stop::RateLimited,
];

/// The body of a refusal.
#[derive(Deserialize)]
struct Problem {
    stop: String,
    detail: String,
    attempts: u32,
}

/// The proxies of one caller, one for each server and kind of route.
#[derive(Debug)]
struct Proxies {
    policy: Policy,
    ledger: Option<Arc<LocalLedger>>,
    running: Mutex<BTreeMap<(String, bool), Proxy>>,
}

impl Proxies {
    fn new(policy: Policy, ledger: Option<Arc<LocalLedger>>) -> Self {
        Self { policy, ledger, running: Mutex::default() }
    }

    /// The request in the form that a proxy gets it, which is started for it.
    async fn request(&self, ask: &Ask) -> io::Result<Request<Full<Bytes>>> {
        let mut request = ask.request()?;
        let uri = request.uri().clone();
        let server = uri.authority().map(ToString::to_string).unwrap_or_default();
        let mut running = self.running.lock().await;
        let key = (server, ask.keyed);
        if !running.contains_key(&key) {
            running.insert(key.clone(), self.start(&key.0, ask.keyed).await?);
        }
        let address = running[&key].handle().addresses()[0];
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let uri = format!("http://{address}{path}").parse::<Uri>();
        *request.uri_mut() = uri.map_err(io::Error::other)?;
        Ok(request)
    }

    async fn start(&self, server: &str, keyed: bool) -> io::Result<Proxy> {
        let text = format!("[route.it]\nlisten = '127.0.0.1:0'\nupstream = 'http://{server}'");
        let mut settings = ProxySettings::parse("it.toml", &text).map_err(io::Error::other)?;
        for route in &mut settings.routes {
            route.policy = self.policy;
            route.retry.added_key = if keyed { AddedKey::Quoted } else { AddedKey::None };
        }
        let started = match &self.ledger {
            Some(ledger) => {
                let ledger = Arc::clone(ledger);
                let make = move |_: &_, _: &_| Ok(DestinationLedger::from(Arc::clone(&ledger)));
                Proxy::bind_with_ledgers(settings, Box::new(make)).await
            }
            None => Proxy::bind(settings).await,
        };
        started.map_err(io::Error::other)
    }
}
