//! The spans of HTTP attempts, as a subscriber of `tracing` receives them, over real sockets.
#![cfg(all(feature = "reqwest", feature = "tower", feature = "tracing"))]

use std::collections::BTreeMap;
use std::error::Error as StdError;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::Full;
use hyper_util::client::legacy::Client as Hyper;
use hyper_util::rt::TokioExecutor;
use stagger::budget::BudgetPlan;
use stagger::reqwest::{Client, ClientOptions, client_builder};
use stagger::tower::StaggerLayer;
use stagger::{AttemptInfo, Backoff, ConfigError, Policy, PolicyBuilder, Retrier, Span, TokioTime};
use stagger_testkit::server::{Reaction, RefusingPort, Script, TestServer};
use tower::{Layer, ServiceExt};
use tracing::field::{Field, Visit};
use tracing::instrument::WithSubscriber;
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Metadata, Subscriber};

type Done = Result<(), Box<dyn StdError + Send + Sync>>;

type Fields = BTreeMap<String, String>;

/// Writes down the fields of every span, and the number of the span that is entered.
#[derive(Clone, Debug, Default)]
struct Spans {
    fields: Arc<Mutex<Vec<Fields>>>,
    entered: Arc<Mutex<Vec<u64>>>,
}

impl Spans {
    /// Holds a second subscriber alive. With one alone, tracing asks only that of the thread that first meets
    /// a span, which has none in another test, and then drops the span for all.
    fn second() -> Dispatch {
        Dispatch::new(Self::default())
    }

    fn told(&self) -> Vec<Fields> {
        self.fields.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn entered(&self) -> Option<u64> {
        self.entered.lock().unwrap_or_else(PoisonError::into_inner).last().copied()
    }
}

impl Subscriber for Spans {
    fn enabled(&self, about: &Metadata<'_>) -> bool {
        about.target() == "stagger::http"
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Fields::new();
        span.record(&mut Writer(&mut fields));
        fields.insert("span".to_owned(), span.metadata().name().to_owned());
        let mut all = self.fields.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(fields);
        Id::from_u64(all.len() as u64)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let mut all = self.fields.lock().unwrap_or_else(PoisonError::into_inner);
        let at = usize::try_from(span.into_u64()).expect("few spans") - 1;
        values.record(&mut Writer(&mut all[at]));
    }

    fn enter(&self, span: &Id) {
        self.entered.lock().unwrap_or_else(PoisonError::into_inner).push(span.into_u64());
    }

    fn exit(&self, _: &Id) {
        self.entered.lock().unwrap_or_else(PoisonError::into_inner).pop();
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
}

struct Writer<'f>(&'f mut Fields);

impl Visit for Writer<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

fn expected(fields: &[(&str, &str)]) -> Fields {
    let all = [("span", "stagger.http.attempt"), ("otel.kind", "client")];
    all.iter().chain(fields).map(|(name, value)| ((*name).into(), (*value).into())).collect()
}

/// Three attempts, a few milliseconds apart.
fn builder() -> Result<PolicyBuilder, ConfigError> {
    let backoff = Backoff::exponential(Span::from_millis(2), Span::from_millis(8))?;
    Ok(Policy::builder().backoff(backoff).budget(BudgetPlan::Unlimited))
}

fn bare() -> Result<reqwest::Client, reqwest::Error> {
    // rustls has no provider of its own here; whoever comes second finds it installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    client_builder().no_proxy().build()
}

#[tokio::test]
async fn a_backend_did_not_recognise_a_resend() -> Done {
    let _second = Spans::second();
    let script = || Script::of([Reaction::status(503), Reaction::close()]).then(Reaction::ok(""));
    let tower = TestServer::start(script()).await;
    let spans = Spans::default();
    let client = Hyper::builder(TokioExecutor::new()).retry_canceled_requests(false).build_http();
    let layer = StaggerLayer::http(Retrier::new(builder()?.build()?, TokioTime));
    let url = tower.url("/orders?id=7&token=secret").replace("//", "//me:pw@");
    let request = Request::put(url);
    let reply = layer.layer(client).oneshot(request.body(Full::<Bytes>::default())?);
    assert_eq!(reply.with_subscriber(spans.clone()).await?.status(), StatusCode::OK);

    let reqwest = TestServer::start(script()).await;
    let client = Client::new(bare()?, builder()?.build()?);
    let url = reqwest.url("/orders?id=7&token=secret");
    let reply = client.put(url).send().with_subscriber(spans.clone()).await?;
    assert_eq!(reply.status(), StatusCode::OK);

    let told = spans.told();
    for (server, told, (user, kind)) in [
        (&tower, &told[..3], ("REDACTED:REDACTED@", "hyper_util::client::legacy::client::Error")),
        (&reqwest, &told[3..], ("", "request")),
    ] {
        let (address, port) = (server.address(), server.address().port().to_string());
        let url = format!("http://{user}{address}/orders?id=7&token=REDACTED");
        let common = [
            ("otel.name", "PUT"),
            ("http.request.method", "PUT"),
            ("server.address", "127.0.0.1"),
            ("server.port", &port),
            ("url.full", &url),
        ];
        let attempt = |own: &[(&str, &str)]| expected(&[&common[..], own].concat());
        let (resent, failed) = ("http.request.resend_count", ("otel.status_code", "ERROR"));
        let status = "http.response.status_code";
        assert_eq!(told[0], attempt(&[(status, "503"), ("error.type", "503"), failed]));
        assert_eq!(told[1], attempt(&[(resent, "1"), ("error.type", kind), failed]));
        assert_eq!(told[2], attempt(&[(resent, "2"), (status, "200")]));
        assert_eq!(told.len(), 3);
    }
    Ok(())
}

#[tokio::test]
async fn an_attempt_without_a_reply_had_no_error() -> Done {
    let _second = Spans::second();
    let kinds = |spans: &Spans| -> Vec<_> {
        spans.told().iter().map(|span| span.get("error.type").cloned()).collect()
    };
    let told = |kind: &str, times| vec![Some(kind.to_owned()); times];
    // The policy's own time limit drops the attempt.
    let server = TestServer::start(Script::always(Reaction::hang())).await;
    let policy = builder()?.max_attempts(2).attempt_timeout(Span::from_millis(30)).build()?;
    let spans = Spans::default();
    let client = Client::new(bare()?, policy);
    let call = client.get(server.url("/")).send().with_subscriber(spans.clone());
    assert!(call.await.is_err());
    assert_eq!(kinds(&spans), told("cancelled", 2));
    // reqwest's own.
    let (policy, spans) = (builder()?.max_attempts(2).build()?, Spans::default());
    let client = Client::new(bare()?, policy);
    let call = client.get(server.url("/")).timeout(Duration::from_millis(30)).send();
    assert!(call.with_subscriber(spans.clone()).await.is_err());
    assert_eq!(kinds(&spans), told("timeout", 2));
    // Nobody there.
    let (refusal, spans) = (RefusingPort::hold()?, Spans::default());
    let call = client.get(refusal.url("/")).send().with_subscriber(spans.clone());
    assert!(call.await.is_err());
    assert_eq!(kinds(&spans), told("connect", 2));
    // Through the tower layer, too.
    let (policy, spans) = (builder()?.max_attempts(2), Spans::default());
    let policy = policy.attempt_timeout(Span::from_millis(30)).build()?;
    let hyper = Hyper::builder(TokioExecutor::new()).build_http();
    let service = StaggerLayer::http(Retrier::new(policy, TokioTime)).layer(hyper);
    let request = Request::get(server.url("/")).body(Full::<Bytes>::default())?;
    assert!(service.oneshot(request).with_subscriber(spans.clone()).await.is_err());
    assert_eq!(kinds(&spans), told("cancelled", 2));
    Ok(())
}

#[tokio::test]
async fn a_hook_could_not_tell_the_server_the_span_of_its_attempt() -> Done {
    let _second = Spans::second();
    let busy = || TestServer::start(Script::of([Reaction::status(503)]).then(Reaction::ok("")));
    let (spans, heard) = (Spans::default(), Arc::new(Mutex::new(Vec::new())));
    let (seen, told) = (spans.clone(), Arc::clone(&heard));
    let hear = move |attempt: &AttemptInfo| {
        let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
        told.push((attempt.number, seen.entered()));
    };
    let (server, by_tower) = (busy().await, hear.clone());
    let options = ClientOptions::new().prepare(move |_, attempt| hear(attempt));
    let client = Client::with_options(bare()?, builder()?.build()?, options);
    client.get(server.url("/")).send().with_subscriber(spans.clone()).await?;

    let server = busy().await;
    let layer = StaggerLayer::http(Retrier::new(builder()?.build()?, TokioTime));
    let layer = layer.per_attempt(move |_: &mut _, attempt: &AttemptInfo| by_tower(attempt));
    let request = Request::get(server.url("/")).body(Full::<Bytes>::default())?;
    let service = layer.layer(Hyper::builder(TokioExecutor::new()).build_http());
    service.oneshot(request).with_subscriber(spans.clone()).await?;
    let heard = heard.lock().unwrap_or_else(PoisonError::into_inner).clone();
    assert_eq!(heard, [(1, Some(1)), (2, Some(2)), (1, Some(3)), (2, Some(4))]);
    assert_eq!(spans.entered(), None, "a span was left entered");
    Ok(())
}
