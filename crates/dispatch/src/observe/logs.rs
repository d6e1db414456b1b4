//! Logs, traces, and the events that are written to them.

use std::io;

use stagger::{Instant, Span};
use stagger_scheduler::model::{
    Delivery, DeliveryAttempt, DeliveryEnding, DeliveryState, EndpointId, EndpointState,
};
use stagger_store::Settlement;
use tracing::Subscriber;
use tracing_subscriber::filter::{EnvFilter, LevelFilter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry};

use super::Instruments;
use crate::Error;

/// The variable with the log filter: `debug`, `stagger_dispatch=debug,info`, ... Default: `info`.
const VARIABLE: &str = "STAGGER_LOG_FILTER";

/// The format of a log line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Sends the log to standard error, for the whole process. The variable `STAGGER_LOG_FILTER` sets
/// the log filter, in the syntax of `tracing-subscriber`; default `info`.
///
/// # Errors
/// The process has a log already; the variable cannot be read.
pub fn init_logs(format: LogFormat) -> Result<(), Error> {
    install(format, None)
}

/// The layer that exports traces, if there is one.
type Extra = Option<Box<dyn Layer<Registry> + Send + Sync>>;

pub(super) fn install(format: LogFormat, traces: Extra) -> Result<(), Error> {
    let twice = |_| Error::conflict("this process already has a logger");
    subscriber(format, filter()?, traces).try_init().map_err(twice)
}

/// The log, and the traces if there are any. A layer of none would have every span made all the same.
fn subscriber(
    format: LogFormat,
    filter: EnvFilter,
    traces: Extra,
) -> Box<dyn Subscriber + Send + Sync> {
    match traces {
        Some(traces) => Box::new(Registry::default().with(traces).with(lines(format, filter))),
        None => Box::new(Registry::default().with(lines(format, filter))),
    }
}

fn lines<S>(format: LogFormat, filter: EnvFilter) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> tracing_subscriber::registry::LookupSpan<'a>,
{
    let layer = tracing_subscriber::fmt::layer().with_writer(io::stderr);
    match format {
        LogFormat::Text => layer.with_ansi(false).with_filter(filter).boxed(),
        LogFormat::Json => layer.json().flatten_event(true).with_filter(filter).boxed(),
    }
}

/// The spans of attempts are for traces: as context of log lines they would only repeat the fields.
fn filter() -> Result<EnvFilter, Error> {
    let bound = "directives of tracing-subscriber, such as `info` or `stagger_dispatch=debug`";
    let text = std::env::var(VARIABLE).unwrap_or_default();
    let wrong = |_| Error::invalid(VARIABLE, &text, bound);
    let filter = EnvFilter::builder()
        .with_default_directive(LevelFilter::INFO.into())
        .parse(&text)
        .map_err(wrong)?;
    let silent = format!("{TARGET}=off").parse();
    Ok(silent.map_or(EnvFilter::default(), |silent| filter.add_directive(silent)))
}

/// The target of the spans: nothing listens unless traces are exported, and then they cost nothing.
pub(super) const TARGET: &str = "stagger_trace";

/// Logs the result of an attempt. A success at the first attempt is counted, but not logged.
pub(crate) fn settled(instruments: &Instruments, settlement: &Settlement) {
    let Some(attempt) = &settlement.attempt else { return };
    instruments.attempted(attempt);
    if let Some(next) = attempt.next {
        let delay = next - (attempt.started_at + attempt.latency);
        instruments.retried(attempt.verdict, delay);
        retry(attempt, delay);
    }
    let Some(delivery) = settlement.delivery.filter(|delivery| !delivery.state.is_open()) else {
        return;
    };
    instruments.ended(delivery.state);
    if delivery.state == DeliveryState::Dead {
        dead(&delivery, attempt);
    }
}

/// Logs the changes of an endpoint's state.
pub(crate) fn moved(endpoint: EndpointId, before: &EndpointState, after: &EndpointState) {
    match (before.disabled, after.disabled) {
        (None, Some(reason)) => {
            tracing::warn!(%endpoint, reason = reason.name(), "endpoint disabled");
        }
        (Some(_), None) => tracing::info!(%endpoint, "endpoint enabled"),
        _ => {}
    }
    match (before.open, after.open) {
        (None, Some(opened)) => {
            let open_time = opened.open_time.as_secs_f64();
            tracing::warn!(%endpoint, open_time, "breaker opened");
        }
        (Some(last), Some(next)) if last != next => {
            let open_time = next.open_time.as_secs_f64();
            tracing::info!(%endpoint, open_time, "probe failed, breaker open again");
        }
        (Some(_), None) => tracing::info!(%endpoint, "breaker closed, recovery started"),
        _ => {}
    }
    if let Some(until) = after.paused_until.filter(|until| Some(*until) > before.paused_until) {
        let until = unix_seconds(until);
        tracing::info!(%endpoint, until, "endpoint paused by Retry-After");
    }
}

/// `retry_attempt` is the number of the attempt that is to come, so that counting the lines by it
/// shows how deep retries go.
fn retry(attempt: &DeliveryAttempt, delay: Span) {
    tracing::info!(
        retry_attempt = attempt.number.saturating_add(1),
        delay = delay.as_secs_f64(),
        msg = %attempt.message,
        endpoint = %attempt.endpoint,
        verdict = attempt.verdict.name(),
        status = attempt.status,
        failure = attempt.failure.map(stagger_scheduler::model::AttemptFailure::name),
        hint = attempt.hint.map(Span::as_secs_f64),
        "attempt failed, retrying after the delay"
    );
}

fn dead(delivery: &Delivery, attempt: &DeliveryAttempt) {
    tracing::warn!(
        attempts = delivery.attempts,
        msg = %delivery.message,
        endpoint = %delivery.endpoint,
        reason = delivery.ending.map(DeliveryEnding::name),
        status = attempt.status,
        failure = attempt.failure.map(stagger_scheduler::model::AttemptFailure::name),
        "delivery is dead, no further attempt"
    );
}

fn unix_seconds(at: Instant) -> f64 {
    (at - Instant::ORIGIN).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_were_made_that_nothing_exports() {
        let filter = filter().expect("no variable");
        tracing::subscriber::with_default(subscriber(LogFormat::Text, filter, None), || {
            assert!(tracing::info_span!(target: TARGET, "attempt").is_disabled());
            assert!(!tracing::info_span!("of a line").is_disabled());
        });
    }
}
