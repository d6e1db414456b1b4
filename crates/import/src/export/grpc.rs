//! Policies as a service config of gRPC.

use serde_json::{Value, json};
use stagger_core::budget::BudgetPlan;
use stagger_core::{Envelope, Policy, Span};

use super::times::protobuf;

/// The most attempts that a client makes.
const MOST: u32 = 5;

/// One entry for each policy; `retryThrottling` where all have the same.
pub(crate) fn grpc_text(policies: &[(&str, &Policy)]) -> String {
    let entries: Vec<Value> = policies.iter().map(|(name, policy)| entry(name, policy)).collect();
    let mut config = json!({ "methodConfig": entries });
    if let Some((_, first)) = policies.first()
        && let BudgetPlan::Throttle(plan) = first.budget()
        && policies.iter().all(|(_, policy)| policy.budget() == first.budget())
    {
        let throttling =
            json!({ "maxTokens": plan.max_tokens(), "tokenRatio": plan.token_ratio().as_f64() });
        config["retryThrottling"] = throttling;
    }
    format!("{config:#}\n")
}

fn entry(name: &str, policy: &Policy) -> Value {
    let limits = policy.limits();
    let named = match name.split_once('/') {
        _ if name == "default" => json!({}),
        Some((service, method)) => json!({ "service": service, "method": method }),
        None => json!({ "service": name }),
    };
    let mut entry = json!({ "name": [named] });
    if let Some(limit) = limits.deadline() {
        entry["timeout"] = protobuf(limit).into();
    }
    let attempts = limits.max_attempts().unwrap_or(MOST).min(MOST);
    if let Some(plan) = policy.hedge() {
        let copies = plan.copies().clamp(2, MOST);
        let delay = protobuf(plan.delay(None));
        entry["hedgingPolicy"] = json!({ "maxAttempts": copies, "hedgingDelay": delay, "nonFatalStatusCodes": ["UNAVAILABLE"] });
    } else if attempts > 1 {
        let backoff = policy.backoff();
        let least = Span::from_millis(1);
        let factor = match backoff.envelope() {
            Envelope::Exponential(factor) => factor.as_f64(),
            _ => 1.0,
        };
        entry["retryPolicy"] = json!({
            "maxAttempts": attempts,
            "initialBackoff": protobuf(backoff.base().max(least)),
            "maxBackoff": protobuf(backoff.cap().max(least)),
            "backoffMultiplier": factor,
            "retryableStatusCodes": ["UNAVAILABLE"],
        });
    }
    entry
}
