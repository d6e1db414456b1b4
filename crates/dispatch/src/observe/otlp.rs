//! Spans to a collector: OTLP over HTTP, as protocol buffers.

use std::str::FromStr;
use std::time::Duration;

use opentelemetry::Context;
use opentelemetry::trace::{
    SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState, TracerProvider,
};
use opentelemetry_otlp::{SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    SdkTracerProvider, Span, SpanData, SpanExporter as _, SpanProcessor,
};
use stagger_scheduler::model::TraceContext;
use tokio::sync::mpsc;
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;

use super::logs::{LogFormat, TARGET, install};
use crate::Error;

/// Spans that wait for the collector; more are dropped, because traces must never slow deliveries.
const QUEUE: usize = 8192;
/// Spans in one request: well below the 4 MiB that collectors take.
const BATCH: usize = 512;

/// Sends the log to standard error, as [`init_logs`](super::init_logs) does, and one span for each
/// attempt to the collector at `url`, such as `http://localhost:4318/v1/traces`. In the clear only: a
/// collector elsewhere is reached through one on this host. To be called in a tokio runtime.
///
/// # Errors
/// The process has a log already; the URL or the variable `STAGGER_LOG_FILTER` cannot be read.
pub fn init_logs_and_traces(format: LogFormat, url: &str) -> Result<(), Error> {
    let wrong = |error| Error::invalid("otlp", url, format!("the URL of a collector: {error}"));
    let mut exporter =
        SpanExporter::builder().with_http().with_endpoint(url).build().map_err(wrong)?;
    let resource = Resource::builder().with_service_name("stagger").build();
    exporter.set_resource(&resource);
    let (spans, queue) = mpsc::channel(QUEUE);
    tokio::spawn(export(exporter, queue));
    let provider = SdkTracerProvider::builder()
        .with_resource(resource)
        .with_span_processor(Collected { spans })
        .build();
    let layer = tracing_opentelemetry::layer()
        .with_tracer(provider.tracer("stagger"))
        .with_filter(filter_fn(|meta| meta.target() == TARGET));
    install(format, Some(layer.boxed()))
}

/// Makes `span` a child of the span in `parent`, unless it has begun; returns its id. A parent that is not sampled makes a
/// span that is not exported.
pub(super) fn join(span: &tracing::Span, parent: &TraceContext) -> Option<[u8; 8]> {
    let state = parent.tracestate().and_then(|state| TraceState::from_str(state).ok());
    let context = SpanContext::new(
        TraceId::from_bytes(parent.trace_id()),
        SpanId::from_bytes(parent.span_id()),
        TraceFlags::new(parent.flags()),
        true,
        state.unwrap_or_default(),
    );
    span.set_parent(Context::new().with_remote_span_context(context)).ok()?;
    let context = span.context();
    let own = context.span().span_context().clone();
    own.is_valid().then(|| own.span_id().to_bytes())
}

/// Hands ended spans to the task that exports them: the exporter needs the runtime that the usual
/// batching thread does not have.
#[derive(Debug)]
struct Collected {
    spans: mpsc::Sender<SpanData>,
}

impl SpanProcessor for Collected {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        // Full: this one is dropped.
        _ = self.spans.try_send(span);
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

async fn export(exporter: SpanExporter, mut queue: mpsc::Receiver<SpanData>) {
    let mut batch = Vec::with_capacity(BATCH);
    while queue.recv_many(&mut batch, BATCH).await > 0 {
        if let Err(error) = exporter.export(std::mem::take(&mut batch)).await {
            tracing::debug!(%error, "spans not exported");
        }
    }
}
