//! One span for each attempt.

use std::future::Future;

use tracing::Instrument;
use tracing::field::Empty;

use crate::model::AttemptAnswer;
use crate::scheduler::Launch;

/// The target of the spans: nothing listens unless traces are exported, and then they cost nothing.
pub(super) const TARGET: &str = "stagger_trace";

/// Runs an attempt in a span of its own.
pub(crate) async fn traced(
    launch: &Launch,
    attempt: impl Future<Output = AttemptAnswer>,
) -> AttemptAnswer {
    let span = tracing::info_span!(
        target: TARGET,
        "stagger.attempt",
        otel.kind = "client",
        stagger.message = %launch.message,
        stagger.endpoint = %launch.endpoint,
        stagger.attempt = launch.number,
        stagger.probe = launch.probe,
        http.response.status_code = Empty,
        error.type = Empty,
    );
    if span.is_disabled() {
        return attempt.await;
    }
    let answer = attempt.instrument(span.clone()).await;
    match answer.result {
        Ok(status) => span.record("http.response.status_code", status),
        Err(failure) => span.record("error.type", failure.name()),
    };
    answer
}
