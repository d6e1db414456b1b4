//! The spans of HTTP attempts, as a collector of OpenTelemetry receives them.
#![cfg(all(feature = "reqwest", feature = "tracing"))]

use std::collections::BTreeMap;
use std::error::Error as StdError;
use std::sync::PoisonError;

use http::StatusCode;
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{SpanExporter, WithExportConfig};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span as OtlpSpan;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanExporter as _};
use stagger::budget::BudgetPlan;
use stagger::reqwest::{Client, client_builder};
use stagger::{Backoff, Policy, Span};
use stagger_testkit::server::{Reaction, Script, TestServer};
use tracing::instrument::WithSubscriber;
use tracing::{Dispatch, Instrument};
use tracing_subscriber::layer::SubscriberExt;

use collector::{Ended, collector};

#[path = "support/collector.rs"]
mod collector;

type Done = Result<(), Box<dyn StdError + Send + Sync>>;

/// The attributes of a span that are of a convention for HTTP.
fn attributes(span: &OtlpSpan) -> BTreeMap<&str, Value> {
    let of_http = |name: &str| {
        let groups = ["http.", "server.", "url.", "error."];
        groups.iter().any(|group| name.starts_with(group))
    };
    let pairs = span.attributes.iter().filter(|pair| of_http(&pair.key));
    pairs.filter_map(|pair| Some((&*pair.key, pair.value.clone()?.value?))).collect()
}

#[tokio::test]
async fn a_collector_took_the_attempts_for_no_http() -> Done {
    let (url, received) = collector().await?;
    let exporter = SpanExporter::builder().with_http().with_endpoint(url).build()?;
    let ended = Ended::default();
    let provider = SdkTracerProvider::builder().with_span_processor(ended.clone()).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
    let subscriber = Dispatch::new(tracing_subscriber::registry().with(layer));

    let server =
        TestServer::start(Script::of([Reaction::status(503)]).then(Reaction::ok(""))).await;
    // rustls has no provider of its own here; whoever comes second finds it installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let policy = Policy::builder().backoff(Backoff::constant(Span::from_millis(2)));
    let policy = policy.budget(BudgetPlan::Unlimited).build()?;
    let client = Client::new(client_builder().no_proxy().build()?, policy);
    let page = async {
        let call = client.get(server.url("/stock?api_key=secret")).send();
        call.instrument(tracing::info_span!("page")).await
    };
    assert_eq!(page.with_subscriber(subscriber).await?.status(), StatusCode::OK);

    exporter.export(ended.take()).await?;
    let spans = received.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let page = spans.iter().find(|span| span.name == "page").ok_or("no page")?;
    let attempts: Vec<_> = spans.iter().filter(|span| span.name == "GET").collect();
    assert_eq!((attempts.len(), attempts.iter().map(|span| span.kind).max()), (2, Some(3)));
    assert!(attempts.iter().all(|attempt| attempt.kind == 3), "clients all");
    assert!(attempts.iter().all(|attempt| attempt.parent_span_id == page.span_id));
    let text = |text: &str| Value::StringValue(text.to_owned());
    let port = server.address().port();
    let common = [
        ("http.request.method", text("GET")),
        ("server.address", text("127.0.0.1")),
        ("server.port", Value::IntValue(port.into())),
        ("url.full", text(&format!("http://127.0.0.1:{port}/stock?api_key=REDACTED"))),
    ];
    let with = |own: &[_]| BTreeMap::from_iter([&common[..], own].concat());
    let status = "http.response.status_code";
    let failed = with(&[(status, Value::IntValue(503)), ("error.type", text("503"))]);
    assert_eq!(attributes(attempts[0]), failed);
    let resent = ("http.request.resend_count", Value::IntValue(1));
    assert_eq!(attributes(attempts[1]), with(&[(status, Value::IntValue(200)), resent]));
    let codes = attempts.iter().map(|span| span.status.as_ref().map_or(0, |status| status.code));
    assert_eq!(codes.collect::<Vec<_>>(), [2, 0], "an error, and unset");
    Ok(())
}
