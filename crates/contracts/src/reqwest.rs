//! reqwest: the client and the middleware, and Google's conformance suite for retries of Cloud Storage with
//! them.
//!
//! Every case is run with every method. The server plays the instructions; the client is reqwest's
//! under a policy, told what a user would tell it: the request's method decides what is idempotent,
//! and a precondition, or Google's own list of operations that always are, is the caller's word.

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{Extensions, Method, Response};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use serde::Deserialize;
use stagger::http::IdempotencyKey;
use stagger::reqwest::{CallOptions, Client, ClientOptions, StaggerMiddleware, client_builder};
use stagger::{CallReport, LocalLedger, Policy};
use stagger_testkit::server::{Reaction, Script, TestServer};
use stagger_testkit::vectors::Suite;

use crate::promise::quick;
use crate::{Ask, CallOutcome, ContractCaller, Integration};

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

    fn caller(&self, policy: Policy, ledger: Arc<LocalLedger>) -> ContractCaller {
        let client = client(policy, ledger);
        Box::new(move |ask| {
            let client = client.clone();
            Box::pin(async move { send(&client, &ask, options(&ask)).await })
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

    fn caller(&self, policy: Policy, ledger: Arc<LocalLedger>) -> ContractCaller {
        let options = ClientOptions::new().ledger(ledger);
        let stagger = StaggerMiddleware::with_options(policy, options);
        let client = ClientBuilder::new(inner()).with(stagger).build();
        Box::new(move |ask| {
            let client = client.clone();
            Box::pin(async move { send_through(&client, &ask).await })
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

const FILE: &str = include_str!("../../../vectors/gcs-retry/retry_tests.json");

/// POSTs that Google lists as always idempotent.
const ALWAYS: [&str; 2] = ["storage.buckets.insert", "storage.buckets.lockRetentionPolicy"];

/// Longer than every offset at which a download breaks.
const OBJECT: usize = 512 << 10;

/// The place where a download breaks when the instruction does not say it.
const SOMEWHERE: usize = 64 << 10;

const BY_METHOD: &str = "PUT and DELETE are idempotent (RFC 9110, 9.2.2) unless the caller says otherwise; \
    the suite wants a precondition or forbids the retry";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GcsFile {
    retry_tests: Vec<Test>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Test {
    id: u32,
    cases: Vec<GcsCase>,
    methods: Vec<Operation>,
    precondition_provided: bool,
    expect_success: bool,
}

#[derive(Deserialize)]
struct GcsCase {
    instructions: Vec<String>,
}

#[derive(Deserialize)]
struct Operation {
    name: String,
    group: Option<String>,
}

/// Every case with every method.
///
/// # Panics
/// When the file is not the one it was.
pub async fn gcs_retry() -> Suite {
    let file: GcsFile = serde_json::from_str(FILE).expect("the file does not change");
    let mut suite = Suite::new("gcs-retry/retry_tests.json");
    for test in &file.retry_tests {
        for case in &test.cases {
            for operation in &test.methods {
                let row = format!("{} {:?} {}", test.id, case.instructions, operation.name);
                let got = run(test, case, operation).await;
                let method = verb(&operation.name);
                let by_method = method == Method::PUT || method == Method::DELETE;
                let differs = matches!(test.id, 3 | 4) && by_method;
                if differs {
                    suite.differ(row, (&got, &true, &test.expect_success), BY_METHOD);
                } else {
                    suite.check(row, &got, &test.expect_success);
                }
            }
        }
    }
    suite
}

/// Whether every call of the operation came to a success.
async fn run(test: &Test, case: &GcsCase, operation: &Operation) -> bool {
    let server = TestServer::start(script(case)).await;
    let policy = quick().max_attempts(4).build().expect("the policy is a constant");
    let client = client(policy, Arc::new(LocalLedger::new(&policy)));
    let word = test.precondition_provided || ALWAYS.contains(&operation.name.as_str());
    for ask in asks(operation, &server, test.precondition_provided) {
        let call = if word { CallOptions::new().idempotent() } else { CallOptions::new() };
        let end = send(&client, &ask, call).await;
        if !end.result.is_ok_and(|reply| reply.status().is_success()) {
            return false;
        }
    }
    // An instruction that no request met proves nothing.
    server.left() == 0
}

/// The requests of an operation: one, but for an upload in a session.
fn asks(operation: &Operation, server: &TestServer, precondition: bool) -> Vec<Ask> {
    let query = if precondition { "?ifGenerationMatch=1" } else { "" };
    let path = operation.name.replace('.', "/");
    let ask = Ask::new(verb(&operation.name), server.url(&format!("/{path}{query}")));
    match operation.group.as_deref() {
        Some("storage.resumable.upload") => {
            let session = Ask::new(Method::PUT, server.url("/session")).with_body("the object");
            vec![ask, session]
        }
        _ => vec![ask],
    }
}

/// Moves a fault after so many bytes to the upload, from the request that begins it.
fn script(case: &GcsCase) -> Script {
    let reactions = case.instructions.iter().map(|instruction| reaction(instruction));
    let whole = Reaction::ok(vec![b'x'; OBJECT]);
    if case.instructions.iter().any(|instruction| instruction.starts_with("return-503-after")) {
        let upload = Script::of(reactions).then(Reaction::status(200));
        return Script::always(whole).on_path("/session", upload);
    }
    Script::of(reactions).then(whole)
}

fn reaction(instruction: &str) -> Reaction {
    let broken = |bytes| Reaction::ok(vec![b'x'; OBJECT]).cut(bytes);
    match instruction {
        "return-reset-connection" => Reaction::reset(),
        "return-broken-stream" => broken(SOMEWHERE),
        "return-broken-stream-after-256K" => broken(256 << 10),
        status => {
            let digits = status.trim_start_matches("return-").split('-').next();
            let status = digits.and_then(|digits| digits.parse().ok());
            Reaction::status(status.expect("the suite knows no other instruction"))
        }
    }
}

/// As the JSON API has it.
fn verb(operation: &str) -> Method {
    match operation.rsplit('.').next().unwrap_or_default() {
        "get" | "list" | "getIamPolicy" | "testIamPermissions" => Method::GET,
        "delete" => Method::DELETE,
        "patch" => Method::PATCH,
        "update" | "setIamPolicy" => Method::PUT,
        _ => Method::POST,
    }
}
