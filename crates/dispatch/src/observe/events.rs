//! Lines of the log: one for each retry, each end without success, and each move of an endpoint.

use stagger::{Instant, Span};

use super::Instruments;
use crate::model::{
    Delivery, DeliveryAttempt, DeliveryEnding, DeliveryState, EndpointId, EndpointState,
};
use crate::store::Settlement;

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
        failure = attempt.failure.map(crate::model::AttemptFailure::name),
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
        failure = attempt.failure.map(crate::model::AttemptFailure::name),
        "delivery is dead, no further attempt"
    );
}

fn unix_seconds(at: Instant) -> f64 {
    (at - Instant::ORIGIN).as_secs_f64()
}
