//! A collector of OpenTelemetry on the loopback, and the spans on their way to it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::routing::post;
use opentelemetry::Context;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span as OtlpSpan;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Span as SdkSpan, SpanData, SpanProcessor};
use prost::Message;

/// Spans that have ended and wait for their export.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ended(Arc<Mutex<Vec<SpanData>>>);

impl Ended {
    pub(crate) fn take(&self) -> Vec<SpanData> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl SpanProcessor for Ended {
    fn on_start(&self, _: &mut SdkSpan, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(span);
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

/// A collector: its address, and the spans that it has received.
pub(crate) async fn collector() -> std::io::Result<(String, Arc<Mutex<Vec<OtlpSpan>>>)> {
    let received = Arc::<Mutex<Vec<_>>>::default();
    let kept = Arc::clone(&received);
    let receive = async move |body: Bytes| {
        let Ok(request) = ExportTraceServiceRequest::decode(body) else {
            return StatusCode::BAD_REQUEST;
        };
        let scopes = request.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
        let spans = scopes.flat_map(|scope| scope.spans);
        kept.lock().unwrap_or_else(PoisonError::into_inner).extend(spans);
        StatusCode::OK
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/v1/traces", listener.local_addr()?);
    let router = Router::new().route("/v1/traces", post(receive));
    tokio::spawn(async { axum::serve(listener, router).await });
    Ok((url, received))
}
