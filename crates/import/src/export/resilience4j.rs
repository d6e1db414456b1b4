//! Policies as instances of resilience4j in a Spring configuration.

use serde_json::{Map, Value, json};
use stagger_core::breaker::{BreakerPlan, WindowKind};
use stagger_core::{Envelope, Jitter, Policy};

use super::times::{millis, retries, seconds};
use super::yaml;

/// `retry`, `circuitbreaker` and `timelimiter` instances of each policy's name.
pub(crate) fn resilience4j_text(policies: &[(&str, &Policy)]) -> String {
    let mut kinds = Map::new();
    for (name, policy) in policies {
        let mut put = |kind: &str, settings: Value| {
            let table = kinds.entry(kind).or_insert_with(|| json!({ "instances": {} }));
            table["instances"][*name] = settings;
        };
        put("retry", retry(policy));
        if let Some(plan) = policy.breaker() {
            put("circuitbreaker", breaker(plan));
        }
        if let Some(limit) = policy.limits().attempt_timeout() {
            put("timelimiter", json!({ "timeoutDuration": millis(limit) }));
        }
    }
    yaml::document(&json!({ "resilience4j": kinds }))
}

fn retry(policy: &Policy) -> Value {
    let backoff = policy.backoff();
    let mut settings = json!({
        "maxAttempts": u64::from(retries(policy)) + 1,
        "waitDuration": millis(backoff.base()),
    });
    if let Envelope::Exponential(factor) = backoff.envelope() {
        settings["enableExponentialBackoff"] = true.into();
        settings["exponentialBackoffMultiplier"] = factor.as_f64().into();
        settings["exponentialMaxWaitDuration"] = millis(backoff.cap()).into();
    }
    let share = match backoff.jitter() {
        Jitter::None => None,
        Jitter::Symmetric(share) => Some(share.as_f64()),
        _ => Some(0.5),
    };
    if let Some(share) = share {
        settings["enableRandomizedWait"] = true.into();
        settings["randomizedWaitFactor"] = share.into();
    }
    settings
}

fn breaker(plan: &BreakerPlan) -> Value {
    let (kind, size) = match plan.window() {
        WindowKind::Calls(calls) => ("COUNT_BASED", u64::from(calls)),
        WindowKind::Time(span) => ("TIME_BASED", seconds(span)),
        _ => ("COUNT_BASED", 100),
    };
    let mut settings = json!({
        "slidingWindowType": kind,
        "slidingWindowSize": size,
        "minimumNumberOfCalls": plan.minimum_calls(),
        "waitDurationInOpenState": millis(plan.open_time()),
        "permittedNumberOfCallsInHalfOpenState": plan.probes(),
    });
    if let Some(ratio) = plan.ratio() {
        settings["failureRateThreshold"] = (ratio.as_f64() * 100.0).into();
    }
    if let Some((after, ratio)) = plan.slow_calls() {
        settings["slowCallDurationThreshold"] = millis(after).into();
        settings["slowCallRateThreshold"] = (ratio.as_f64() * 100.0).into();
    }
    settings
}
