//! reqwest: the client, and the middleware.

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{Extensions, Response};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use stagger::http::IdempotencyKey;
use stagger::reqwest::{CallOptions, Client, ClientOptions, StaggerMiddleware, client_builder};
use stagger::{CallReport, LocalLedger, Policy};

use crate::{Ask, CallOutcome, ContractCaller, Integration, Later};

/// reqwest's client under a policy.
#[derive(Clone, Copy, Debug)]
pub struct ReqwestClient;

/// The policy as a middleware of reqwest-middleware.
#[derive(Clone, Copy, Debug)]
pub struct ReqwestMiddleware;

/// More than every body that a promise is about, in bytes.
const LARGEST: usize = 1 << 20;

impl Integration for ReqwestClient {
    fn name(&self) -> &'static str {
        "reqwest client"
    }

    fn calls(
        &self,
        policy: Policy,
        ledger: Arc<LocalLedger>,
        asks: Vec<Ask>,
    ) -> Later<Vec<CallOutcome>> {
        Box::pin(async move {
            let client = client(policy, ledger);
            let mut ends = Vec::new();
            for ask in asks {
                ends.push(send(&client.clone(), &ask, options(&ask)).await);
            }
            ends
        })
    }

    fn client(&self, policy: Policy) -> ContractCaller {
        let client = Client::new(inner(), policy);
        Box::new(move |ask| {
            let client = client.clone();
            Box::pin(async move {
                let report = Arc::default();
                let call = CallOptions::new().report(Arc::clone(&report));
                end(client.execute_with(request(&ask), call).await, &report).await
            })
        })
    }
}

impl Integration for ReqwestMiddleware {
    fn name(&self) -> &'static str {
        "reqwest middleware"
    }

    fn calls(
        &self,
        policy: Policy,
        ledger: Arc<LocalLedger>,
        asks: Vec<Ask>,
    ) -> Later<Vec<CallOutcome>> {
        Box::pin(async move {
            let options = ClientOptions::new().ledger(ledger);
            let stagger = StaggerMiddleware::with_options(policy, options);
            let client = ClientBuilder::new(inner()).with(stagger).build();
            let mut ends = Vec::new();
            for ask in asks {
                ends.push(send_through(&client.clone(), &ask).await);
            }
            ends
        })
    }

    fn client(&self, policy: Policy) -> ContractCaller {
        let client = ClientBuilder::new(inner()).with(StaggerMiddleware::new(policy)).build();
        Box::new(move |ask| {
            let client = client.clone();
            Box::pin(async move {
                let report = Arc::default();
                let mut extensions = Extensions::new();
                extensions.insert(CallOptions::new().report(Arc::clone(&report)));
                let reply = client.execute_with_extensions(request(&ask), &mut extensions);
                end(reply.await, &report).await
            })
        })
    }
}

/// The client under this policy and this ledger.
pub(crate) fn client(policy: Policy, ledger: Arc<LocalLedger>) -> Client {
    Client::with_options(inner(), policy, ClientOptions::new().ledger(ledger))
}

/// One call, its reply read within the attempt.
pub(crate) async fn send(client: &Client, ask: &Ask, call: CallOptions) -> CallOutcome {
    let report = Arc::default();
    let call = call.buffered(LARGEST).report(Arc::clone(&report));
    end(client.execute_with(request(ask), call).await, &report).await
}

async fn send_through(client: &ClientWithMiddleware, ask: &Ask) -> CallOutcome {
    let report = Arc::default();
    let mut extensions = Extensions::new();
    extensions.insert(options(ask).buffered(LARGEST).report(Arc::clone(&report)));
    end(client.execute_with_extensions(request(ask), &mut extensions).await, &report).await
}

fn options(ask: &Ask) -> CallOptions {
    match ask.keyed {
        true => CallOptions::new().idempotency_key(IdempotencyKey::random()),
        false => CallOptions::new(),
    }
}

fn inner() -> reqwest::Client {
    // OK because an error says that a provider is there already.
    _ = rustls::crypto::ring::default_provider().install_default();
    client_builder().no_proxy().build().expect("the settings are constants")
}

fn request(ask: &Ask) -> reqwest::Request {
    let request = ask.request().expect("the addresses are those of our servers");
    let request = request.map(|body| match ask.streamed {
        true => reqwest::Body::wrap(body),
        false => ask.body.clone().into(),
    });
    request.try_into().expect("the addresses are those of our servers")
}

async fn end<E: Error>(
    result: Result<reqwest::Response, E>,
    report: &Mutex<CallReport>,
) -> CallOutcome {
    let result = match result {
        Ok(reply) => whole(reply).await.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    let report = report.lock().unwrap_or_else(PoisonError::into_inner);
    CallOutcome { result, stop: report.stop(), attempts: Some(report.attempts()) }
}

async fn whole(mut reply: reqwest::Response) -> reqwest::Result<Response<Bytes>> {
    let mut head = Response::new(());
    *head.status_mut() = reply.status();
    std::mem::swap(head.headers_mut(), reply.headers_mut());
    let body = reply.bytes().await?;
    Ok(head.map(|()| body))
}
