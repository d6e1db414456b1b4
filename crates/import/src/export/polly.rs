//! Policies as options of Polly and of Microsoft.Extensions.Http.Resilience.

use serde_json::{Value, json};
use stagger_core::breaker::{BreakerPlan, WindowKind};
use stagger_core::{Envelope, Jitter, Policy};

use super::times::{retries, timespan};

/// One section for each policy: a standard handler where it limits an attempt, or else a pipeline.
pub(crate) fn polly_text(policies: &[(&str, &Policy)]) -> String {
    let mut root = json!({});
    for (name, policy) in policies {
        root[*name] = section(policy);
    }
    format!("{root:#}\n")
}

fn section(policy: &Policy) -> Value {
    let limits = policy.limits();
    let mut section = json!({});
    if let Some(plan) = policy.hedge() {
        return hedging(policy, plan.copies(), &timespan(plan.delay(None)));
    }
    if retries(policy) > 0 || policy.breaker().is_none() {
        section["Retry"] = retry(policy);
    }
    if let Some(plan) = policy.breaker() {
        section["CircuitBreaker"] = breaker(plan);
    }
    if let Some(limit) = limits.attempt_timeout() {
        section["AttemptTimeout"] = json!({ "Timeout": timespan(limit) });
    }
    if let Some(limit) = limits.deadline() {
        let key =
            if limits.attempt_timeout().is_some() { "TotalRequestTimeout" } else { "Timeout" };
        section[key] = json!({ "Timeout": timespan(limit) });
    }
    section
}

fn hedging(policy: &Policy, copies: u32, delay: &str) -> Value {
    let mut endpoint = json!({});
    if let Some(limit) = policy.limits().attempt_timeout() {
        endpoint["Timeout"] = json!({ "Timeout": timespan(limit) });
    }
    if let Some(plan) = policy.breaker() {
        endpoint["CircuitBreaker"] = breaker(plan);
    }
    let mut section = json!({
        "Hedging": { "MaxHedgedAttempts": copies.saturating_sub(1).max(1), "Delay": delay },
        "Endpoint": endpoint,
    });
    if let Some(limit) = policy.limits().deadline() {
        section["TotalRequestTimeout"] = json!({ "Timeout": timespan(limit) });
    }
    section
}

fn retry(policy: &Policy) -> Value {
    let backoff = policy.backoff();
    let kind = match backoff.envelope() {
        Envelope::Constant => "Constant",
        Envelope::Linear => "Linear",
        _ => "Exponential",
    };
    // A count of .NET is signed.
    let most = retries(policy).clamp(1, i32::MAX.unsigned_abs());
    json!({
        "MaxRetryAttempts": most,
        "BackoffType": kind,
        "Delay": timespan(backoff.base()),
        "MaxDelay": timespan(backoff.cap()),
        "UseJitter": backoff.jitter() != Jitter::None,
    })
}

fn breaker(plan: &BreakerPlan) -> Value {
    let mut settings = json!({
        "MinimumThroughput": plan.minimum_calls().max(2),
        "BreakDuration": timespan(plan.open_time()),
    });
    if let Some(ratio) = plan.ratio() {
        settings["FailureRatio"] = ratio.as_f64().into();
    }
    if let WindowKind::Time(span) = plan.window() {
        settings["SamplingDuration"] = timespan(span).into();
    }
    settings
}
