//! The span of an attempt: an HTTP client span of OpenTelemetry, a child of the span that produced the message.

use std::future::Future;
use std::pin::Pin;

use stagger_scheduler::Launch;
use stagger_scheduler::model::{AttemptAnswer, TraceContext};
use stagger_sender::TargetPlace;
use tracing::field::Empty;
use tracing::{Instrument, Span};

use super::logs::TARGET;

/// The lowest status that a client reports as an error.
const FIRST_ERROR: u16 = 400;

/// The span of an attempt, and the context that its receiver gets.
#[derive(Debug)]
pub(crate) struct AttemptSpan {
    span: Span,
    context: Option<TraceContext>,
}

impl AttemptSpan {
    /// Begins the span of an attempt to `place`. Without a producer's trace it is the root of a trace of its own, of
    /// which the receiver learns nothing.
    ///
    /// Numbers are i64, because tracing-opentelemetry writes every other integer as text.
    pub(crate) fn begin(
        launch: &Launch,
        place: Option<&TargetPlace>,
        trace: Option<&TraceContext>,
    ) -> Self {
        let span = tracing::info_span!(
            target: TARGET,
            "stagger.attempt",
            otel.kind = "client",
            otel.status_code = Empty,
            stagger.message = %launch.message,
            stagger.endpoint = %launch.endpoint,
            stagger.attempt = i64::from(launch.number),
            stagger.probe = launch.probe,
            http.request.method = "POST",
            http.request.resend_count = Empty,
            http.response.status_code = Empty,
            server.address = Empty,
            server.port = Empty,
            url.full = Empty,
            error.type = Empty,
        );
        if !span.is_disabled() {
            describe(&span, launch, place);
        }
        let context = trace.map(|trace| trace.child(own_id(&span, trace)));
        Self { span, context }
    }

    /// The context to send: this span within the trace of the message, if that has one.
    pub(crate) fn context(&self) -> Option<TraceContext> {
        self.context.clone()
    }

    /// Runs the attempt within the span, and ends the span with its answer. The caller pins it: moved in here, it would
    /// take its room three times.
    pub(crate) async fn run<F>(self, attempt: Pin<&mut F>) -> AttemptAnswer
    where
        F: Future<Output = AttemptAnswer>,
    {
        let Self { span, .. } = self;
        if span.is_disabled() {
            return attempt.await;
        }
        let answer = attempt.instrument(span.clone()).await;
        match answer.result {
            Ok(status) => {
                span.record("http.response.status_code", i64::from(status));
                if status >= FIRST_ERROR {
                    span.record("error.type", tracing::field::display(status));
                    span.record("otel.status_code", "ERROR");
                }
            }
            Err(failure) => {
                span.record("error.type", failure.name());
                span.record("otel.status_code", "ERROR");
            }
        }
        answer
    }
}

fn describe(span: &Span, launch: &Launch, place: Option<&TargetPlace>) {
    if launch.number > 1 {
        span.record("http.request.resend_count", i64::from(launch.number - 1));
    }
    if let Some(TargetPlace { url, host, port }) = place {
        span.record("server.address", host.as_str());
        span.record("server.port", i64::from(*port));
        span.record("url.full", url.as_str());
    }
}

/// The id of the span in its trace: that of the exported span, or else a new one.
fn own_id(span: &Span, trace: &TraceContext) -> [u8; 8] {
    #[cfg(feature = "otel")]
    if let Some(id) = super::otlp::join(span, trace) {
        return id;
    }
    #[cfg(not(feature = "otel"))]
    let _ = (span, trace);
    stagger_sender::new_span_id()
}
