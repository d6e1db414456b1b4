//! The traces of calls through a proxy, as a collector of OpenTelemetry and the upstream see them. One test, because the
//! subscriber is the whole process's: the proxy's tasks are its own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use http::HeaderMap;
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{SpanExporter, WithExportConfig};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span as OtlpSpan;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanExporter as _};
use stagger_testkit::server::{Reaction, Script, SeenRequest, TestServer};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;

use client::{RunningProxy, request, text};
use collector::{Ended, collector};

#[path = "../proxy/client.rs"]
#[expect(dead_code, reason = "the other tests send raw bytes too")]
mod client;
#[path = "../../../stagger/tests/support/collector.rs"]
mod collector;
#[path = "../proxy/grpc_call.rs"]
mod grpc_call;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER: &str = "b7ad6b7169203331";
const FAST: &str = "backoff = { base = '1ms', cap = '2ms' }, budget = 'unlimited'";

/// The spans of this process, on their way to a collector.
struct Traces {
    ended: Ended,
    exporter: SpanExporter,
    received: Arc<Mutex<Vec<OtlpSpan>>>,
}

impl Traces {
    async fn start() -> Self {
        let (url, received) = collector().await.expect("a port");
        let exporter = SpanExporter::builder().with_http().with_endpoint(url).build();
        let ended = Ended::default();
        let provider = SdkTracerProvider::builder().with_span_processor(ended.clone()).build();
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
        // As the program has it.
        let targets = ["stagger_trace", "stagger::http"];
        let layer = layer.with_filter(filter_fn(move |meta| targets.contains(&meta.target())));
        tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer))
            .expect("the only one");
        Self { ended, exporter: exporter.expect("a URL"), received }
    }

    /// The spans that have ended since the last time, as the collector received them.
    async fn collected(&self) -> Collected {
        let ended = self.ended.take();
        if !ended.is_empty() {
            self.exporter.export(ended).await.expect("the collector takes them");
        }
        let mut received = self.received.lock().unwrap_or_else(PoisonError::into_inner);
        Collected(std::mem::take(&mut received))
    }
}

struct Collected(Vec<OtlpSpan>);

impl Collected {
    /// The one span of a call, and those of its attempts in the order of their starts.
    fn call(&self) -> (&OtlpSpan, Vec<&OtlpSpan>) {
        let (calls, mut attempts): (Vec<_>, Vec<_>) = self.0.iter().partition(|it| it.kind == 2);
        assert_eq!(calls.len(), 1, "{:?}", self.0);
        attempts.sort_by_key(|it| it.start_time_unix_nano);
        assert!(attempts.iter().all(|it| it.kind == 3), "clients all");
        assert!(attempts.iter().all(|it| it.trace_id == calls[0].trace_id));
        assert!(attempts.iter().all(|it| it.parent_span_id == calls[0].span_id));
        (calls[0], attempts)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The attributes of a span, but for those of the program's own place: file, line, thread.
fn attributes(span: &OtlpSpan) -> BTreeMap<&str, Value> {
    let told = |name: &str| {
        let groups = ["http.", "server.", "url.", "error.", "stagger."];
        groups.iter().any(|group| name.starts_with(group))
    };
    let pairs = span.attributes.iter().filter(|pair| told(&pair.key));
    pairs.filter_map(|pair| Some((&*pair.key, pair.value.clone()?.value?))).collect()
}

fn word(text: &str) -> Value {
    Value::StringValue(text.to_owned())
}

/// The parent that the upstream was told.
fn told(seen: &SeenRequest) -> &str {
    text(&seen.headers, "traceparent")
}

fn parent_of(span: &OtlpSpan, flags: &str) -> String {
    format!("00-{}-{}-{flags}", hex(&span.trace_id), hex(&span.span_id))
}

async fn proxy_to(server: &TestServer, policy: &str, more: &str) -> RunningProxy {
    let url = server.url("");
    let policy = format!("policy = {{ {FAST}, {policy} }}");
    RunningProxy::start(&format!("[route.api]\nupstream = '{url}'\n{policy}\n{more}")).await
}

#[tokio::test]
async fn a_trace_broke_at_the_proxy() {
    let traces = Traces::start().await;
    each_attempt_is_a_child_of_the_call(&traces).await;
    a_malformed_parent_begins_a_new_trace(&traces).await;
    the_caller_decides_whether_a_trace_is_sampled(&traces).await;
    copies_and_calls_of_grpc_have_spans_of_their_own(&traces).await;
    a_refusal_tells_its_reason(&traces).await;
}

async fn each_attempt_is_a_child_of_the_call(traces: &Traces) {
    let server =
        TestServer::start(Script::of([Reaction::status(503)]).then(Reaction::ok("fine"))).await;
    let proxy = proxy_to(&server, "limits = { max_attempts = 3 }", "").await;
    let parent = format!("00-{TRACE}-{CALLER}-01");
    let sent = [("traceparent", &*parent), ("tracestate", "rojo=1"), ("tracestate", "congo=2")];
    let reply = proxy.send(request("GET", "/stock?api_key=secret", "", &sent)).await;
    assert_eq!(reply.status(), 200);
    let collected = traces.collected().await;
    let (call, attempts) = collected.call();
    assert_eq!((hex(&call.trace_id), hex(&call.parent_span_id)), (TRACE.into(), CALLER.into()));
    let seen = server.seen();
    assert_eq!((attempts.len(), seen.len()), (2, 2));
    for (attempt, seen) in attempts.iter().zip(&seen) {
        assert_eq!(told(seen), parent_of(attempt, "01"), "its own span goes upstream");
        assert_eq!(text(&seen.headers, "tracestate"), "rojo=1,congo=2");
        assert_eq!(seen.headers.get_all("tracestate").iter().count(), 1);
    }
    let address = server.address();
    let common = [
        ("http.request.method", word("GET")),
        ("server.address", word("127.0.0.1")),
        ("server.port", Value::IntValue(address.port().into())),
        ("url.full", word(&format!("http://{address}/stock?api_key=REDACTED"))),
    ];
    let with = |own: &[_]| BTreeMap::from_iter([&common[..], own].concat());
    let status = "http.response.status_code";
    let failed = with(&[(status, Value::IntValue(503)), ("error.type", word("503"))]);
    assert_eq!(attributes(attempts[0]), failed);
    let resent = ("http.request.resend_count", Value::IntValue(1));
    assert_eq!(attributes(attempts[1]), with(&[(status, Value::IntValue(200)), resent]));
    let of_call = BTreeMap::from([
        ("http.request.method", word("GET")),
        (status, Value::IntValue(200)),
        ("server.address", word("api.internal")),
        ("stagger.route", word("api")),
        ("url.path", word("/stock")),
        ("url.scheme", word("http")),
    ]);
    assert_eq!((attributes(call), &*call.name), (of_call, "GET api"));
}

async fn a_malformed_parent_begins_a_new_trace(traces: &Traces) {
    let server = TestServer::start(Script::always(Reaction::ok("fine"))).await;
    let proxy = proxy_to(&server, "limits = { max_attempts = 3 }", "").await;
    let sent = [("traceparent", "00-nothing-of-the-kind-01"), ("tracestate", "rojo=1")];
    assert_eq!(proxy.send(request("GET", "/", "", &sent)).await.status(), 200);
    let collected = traces.collected().await;
    let (call, attempts) = collected.call();
    assert_eq!(call.parent_span_id, [0_u8; 0], "the root of a trace");
    let seen = server.seen();
    assert_eq!(told(&seen[0]), parent_of(attempts[0], "01"));
    assert_eq!(text(&seen[0].headers, "tracestate"), "", "it is of no trace");
}

async fn the_caller_decides_whether_a_trace_is_sampled(traces: &Traces) {
    let server = TestServer::start(Script::always(Reaction::ok("fine"))).await;
    let proxy = proxy_to(&server, "limits = { max_attempts = 3 }", "").await;
    let parent = format!("00-{TRACE}-{CALLER}-00");
    let sent = [("traceparent", &*parent), ("tracestate", "rojo=1")];
    assert_eq!(proxy.send(request("GET", "/", "", &sent)).await.status(), 200);
    assert!(traces.collected().await.0.is_empty(), "nothing is exported");
    let seen = &server.seen()[0];
    assert!(told(seen).starts_with(&format!("00-{TRACE}-")), "{}", told(seen));
    assert!(told(seen).ends_with("-00"), "{}", told(seen));
    assert_eq!(text(&seen.headers, "tracestate"), "rojo=1");
}

async fn copies_and_calls_of_grpc_have_spans_of_their_own(traces: &Traces) {
    let server = TestServer::start(Script::of([Reaction::hang(), Reaction::ok("fine")])).await;
    let proxy = proxy_to(&server, "hedge = { delay = '20ms' }", "").await;
    assert_eq!(proxy.ask("GET", "/").await.status(), 200);
    let collected = traces.collected().await;
    let (_, attempts) = collected.call();
    // The second copy may overtake the first on its way to the server.
    let parents: BTreeSet<_> = attempts.iter().map(|it| parent_of(it, "01")).collect();
    assert_eq!(parents, server.seen().iter().map(|it| told(it).to_owned()).collect());
    let cancelled = |it: &&&OtlpSpan| attributes(it).get("error.type") == Some(&word("cancelled"));
    assert_eq!(attempts.iter().filter(cancelled).count(), 1, "the other was faster");
    assert_eq!(attributes(attempts[1])["http.request.resend_count"], Value::IntValue(1));

    let server = TestServer::start(Script::of([grpc_call::status(14), grpc_call::answer()])).await;
    let more = "retry.grpc_methods = '/shop.Orders/Get'";
    let proxy = proxy_to(&server, "limits = { max_attempts = 3 }", more).await;
    let (reply, trailers): (_, HeaderMap) =
        grpc_call::unary(&proxy, "/shop.Orders/Get", "5S").await;
    assert_eq!((reply.status().as_u16(), text(&trailers, "grpc-status")), (200, "0"));
    let collected = traces.collected().await;
    let (call, attempts) = collected.call();
    let parents: Vec<_> = attempts.iter().map(|it| parent_of(it, "01")).collect();
    assert_eq!(parents, server.seen().iter().map(told).collect::<Vec<_>>());
    assert_eq!(&*call.name, "POST api");
    assert_eq!(attributes(attempts[0])["error.type"], word("UNAVAILABLE"));
    assert_eq!(attributes(attempts[0])["http.response.status_code"], Value::IntValue(200));
    assert!(!attributes(attempts[1]).contains_key("error.type"));
}

async fn a_refusal_tells_its_reason(traces: &Traces) {
    let server = TestServer::start(Script::always(Reaction::hang())).await;
    let policy = "limits = { max_attempts = 2, deadline = '300ms' }";
    let proxy = proxy_to(&server, policy, "").await;
    assert_eq!(proxy.ask("GET", "/").await.status(), 504);
    let collected = traces.collected().await;
    let (call, attempts) = collected.call();
    let attributes_of_call = attributes(call);
    assert_eq!(attributes_of_call["error.type"], word("deadline_exceeded"));
    assert_eq!(attributes_of_call["stagger.attempts"], Value::IntValue(1));
    assert_eq!(call.status.as_ref().map(|status| status.code), Some(2), "an error");
    assert_eq!(attributes(attempts[0])["error.type"], word("cancelled"));
}
