//! Traces: what a receiver is told, and the spans that a collector receives. One test in a process, because a process
//! has one log, in which the attempts of other tests would be too.
#![cfg(feature = "otel")]

use std::collections::BTreeMap;
use std::sync::Arc;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span as OtlpSpan;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use prost::Message as _;
use stagger_dispatch::node::{Node, NodeOptions, Submission};
use stagger_dispatch::observe::{LogFormat, init_logs_and_traces};
use stagger_scheduler::model::{ApplicationId, TraceContext};
use stagger_sender::{SendOptions, Sender};
use stagger_store::MemoryStore;
use stagger_testkit::server::{Reaction, RefusingPort, Script, SeenRequest, TestServer};

use uuid::Uuid;

use crate::shared::{application, endpoint, submission};

#[path = "shared/mod.rs"]
mod shared;

const SAMPLED: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const UNSAMPLED: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

fn traced(parent: &str) -> Submission {
    Submission { trace: TraceContext::parse(parent, ["vendor=1"]), ..submission(parent) }
}

/// The context that a receiver got.
fn told(seen: &SeenRequest) -> Option<TraceContext> {
    let text = |name| seen.headers.get(name).map(|value| value.to_str().expect("ASCII"));
    TraceContext::parse(text("traceparent")?, text("tracestate"))
}

/// All spans that have come, once there are this many.
async fn spans(collector: &TestServer, count: usize) -> Vec<OtlpSpan> {
    loop {
        let taken = collector.taken();
        let mut spans = Vec::new();
        for request in collector.seen() {
            assert_eq!(request.path, "/v1/traces");
            let exported = ExportTraceServiceRequest::decode(request.body).expect("an export");
            let scopes = exported.resource_spans.into_iter().flat_map(|it| it.scope_spans);
            spans.extend(scopes.flat_map(|scope| scope.spans));
        }
        if spans.len() >= count {
            return spans;
        }
        collector.until_taken(taken + 1).await;
    }
}

fn attributes(span: &OtlpSpan) -> BTreeMap<&str, String> {
    let text = |value: &Value| match value {
        Value::StringValue(text) => format!("{text:?}"),
        Value::IntValue(number) => number.to_string(),
        other => format!("{other:?}"),
    };
    let pair = |it: &'_ opentelemetry_proto::tonic::common::v1::KeyValue| {
        it.value.as_ref().and_then(|value| value.value.as_ref()).map(text).unwrap_or_default()
    };
    span.attributes.iter().map(|it| (it.key.as_str(), pair(it))).collect()
}

/// A node with an endpoint at `url`.
async fn node_sending_to(url: &str) -> (Node, ApplicationId) {
    let options = SendOptions { allow_private: true, ..SendOptions::default() };
    let sender = Sender::new(options).expect("no certificates");
    let store = Arc::new(MemoryStore::default());
    let node = Node::start(store, sender, NodeOptions::default()).await.expect("it loads");
    let app = ApplicationId::from_uuid(Uuid::from_u128(1));
    node.put_application(application(app)).await.expect("it is stored");
    node.put_endpoint(endpoint(app, 1, url, 6)).await.expect("it is stored");
    (node, app)
}

/// Traces of attempts could not be joined to those of their producers.
#[tokio::test]
async fn attempts_are_children_of_the_span_that_produced_their_message() {
    let collector = TestServer::start(Script::of([])).await;
    init_logs_and_traces(LogFormat::Text, &collector.url("/v1/traces")).unwrap();
    let server = TestServer::start(Script::of([Reaction::status(500)])).await;
    let (node, app) = node_sending_to(&server.url("/hook?token=hunter2")).await;
    let submit = async |message| {
        let accepted = node.accept(app, vec![message]).await.unwrap();
        accepted[0].id.to_string()
    };

    let id = submit(traced(SAMPLED)).await;
    let mut found = spans(&collector, 2).await;
    found.sort_by_key(|span| span.start_time_unix_nano);
    let producer = TraceContext::parse(SAMPLED, ["vendor=1"]).unwrap();
    let seen = server.seen();
    for (n, (span, seen)) in found.iter().zip(&seen).enumerate() {
        assert_eq!(span.trace_id, producer.trace_id());
        assert_eq!(span.parent_span_id, producer.span_id());
        assert_eq!(span.kind(), SpanKind::Client);
        // The receiver continues the span of its own attempt, with the flags and the state of the producer.
        let told = told(seen).unwrap();
        assert_eq!(told, producer.child(span.span_id.as_slice().try_into().unwrap()));
        let attributes = attributes(span);
        let (status, code) =
            if n == 0 { (500, StatusCode::Error) } else { (200, StatusCode::Unset) };
        let expected = [
            ("http.request.method", "\"POST\"".to_owned()),
            ("http.response.status_code", status.to_string()),
            ("server.address", "\"127.0.0.1\"".to_owned()),
            ("server.port", server.address().port().to_string()),
            ("url.full", format!("{:?}", server.url("/hook?token=REDACTED"))),
            ("stagger.attempt", (n + 1).to_string()),
            ("stagger.message", format!("{id:?}")),
        ];
        for (name, value) in expected {
            assert_eq!(attributes.get(name), Some(&value), "{name} in {attributes:?}");
        }
        let resent = attributes.get("http.request.resend_count").map(String::as_str);
        assert_eq!(resent, if n == 0 { None } else { Some("1") });
        let error = attributes.get("error.type").map(String::as_str);
        assert_eq!(error, if n == 0 { Some("\"500\"") } else { None });
        assert_eq!(span.status.as_ref().map_or(StatusCode::Unset, |it| it.code()), code);
    }
    assert_ne!(found[0].span_id, found[1].span_id, "each attempt has a span of its own");

    // A trace that its producer does not sample is passed on, and exported nowhere.
    submit(traced(UNSAMPLED)).await;
    server.until_taken(3).await;
    let told_of = told(&server.seen()[2]).unwrap();
    let unsampled = TraceContext::parse(UNSAMPLED, ["vendor=1"]).unwrap();
    assert_eq!(told_of, unsampled.child(told_of.span_id()));
    assert_ne!(told_of.span_id(), unsampled.span_id());

    // Without a trace the receiver is told none, and the attempt is the root of its own.
    submit(submission("1")).await;
    let found = spans(&collector, 3).await;
    assert_eq!((&found[2].parent_span_id[..], told(&server.seen()[3])), (&[][..], None));
    assert!(found.iter().all(|span| span.trace_id != unsampled.trace_id()));

    // A failure has its name.
    let refusing = RefusingPort::hold().unwrap();
    node.put_endpoint(endpoint(app, 1, &refusing.url("/"), 6)).await.unwrap();
    submit(submission("2")).await;
    let found = spans(&collector, 4).await;
    let attributes = attributes(&found[3]);
    assert_eq!(attributes.get("error.type").map(String::as_str), Some("\"connect\""));
    assert_eq!(attributes.get("http.response.status_code"), None);
}
