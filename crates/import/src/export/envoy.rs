//! Policies as routes of Envoy, and the retry budgets of their clusters.

use serde_json::{Map, Value, json};
use stagger_core::{HintRule, Policy, Span};

use super::times::{protobuf, retries, window};
use super::yaml;

/// A virtual host with a route for each policy, and clusters for those with a budget.
pub(crate) fn envoy_text(policies: &[(&str, &Policy)]) -> String {
    let routes: Vec<Value> = policies.iter().map(|(name, policy)| route(name, policy)).collect();
    let clusters: Vec<Value> =
        policies.iter().filter_map(|(name, policy)| cluster(name, policy)).collect();
    let mut root =
        json!({ "virtual_hosts": [{ "name": "stagger", "domains": ["*"], "routes": routes }] });
    if !clusters.is_empty() {
        root["clusters"] = clusters.into();
    }
    yaml::document(&root)
}

fn route(name: &str, policy: &Policy) -> Value {
    let limits = policy.limits();
    let mut retry = Map::new();
    retry.insert("retry_on".to_owned(), "5xx,reset,connect-failure".into());
    retry.insert("num_retries".to_owned(), retries(policy).into());
    if let Some(limit) = limits.attempt_timeout() {
        retry.insert("per_try_timeout".to_owned(), protobuf(limit).into());
    }
    let backoff = policy.backoff();
    let base = backoff.base().max(Span::from_millis(1));
    let intervals = json!({ "base_interval": protobuf(base), "max_interval": protobuf(backoff.cap().max(base)) });
    retry.insert("retry_back_off".to_owned(), intervals);
    if *policy.hints() != HintRule::default() {
        let header = json!({ "name": "Retry-After", "format": "SECONDS" });
        let limited =
            json!({ "max_interval": protobuf(policy.hints().max()), "reset_headers": [header] });
        retry.insert("rate_limited_retry_back_off".to_owned(), limited);
    }
    let timeout = protobuf(limits.deadline().unwrap_or(Span::ZERO));
    json!({
        "name": name,
        "match": { "prefix": "/" },
        "route": { "cluster": name, "timeout": timeout, "retry_policy": retry },
    })
}

fn cluster(name: &str, policy: &Policy) -> Option<Value> {
    let plan = window(policy)?;
    let least = plan.floor().rate().millionths().div_ceil(1_000_000);
    let budget = json!({
        "budget_percent": { "value": plan.ratio().as_f64() * 100.0 },
        "min_retry_concurrency": least,
    });
    Some(
        json!({ "name": name, "circuit_breakers": { "thresholds": [{ "retry_budget": budget }] } }),
    )
}
