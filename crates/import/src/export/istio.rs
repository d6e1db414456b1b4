//! Policies as routes of Istio, and destination rules for budgets and breakers.

use serde_json::{Map, Value, json};
use stagger_core::{Policy, Span};

use super::times::{millis, retries, window};
use super::yaml;

/// A `VirtualService` for each policy, with a `DestinationRule` where it has a budget or a breaker.
pub(crate) fn istio_text(policies: &[(&str, &Policy)]) -> String {
    let mut pages = Vec::new();
    for (number, (name, policy)) in policies.iter().enumerate() {
        let host = resource_name(name, number);
        pages.push(yaml::document(&service(name, &host, policy)));
        pages.extend(rule(&host, policy).map(|rule| yaml::document(&rule)));
    }
    pages.join("---\n")
}

/// A name that Kubernetes takes (RFC 1123), unlike that of another policy.
pub(super) fn resource_name(name: &str, number: usize) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let label: String = name.chars().map(plain).take(50).collect();
    let label = label.trim_matches('-');
    if label == name {
        label.to_owned()
    } else {
        format!("{label}-{}", number + 1).trim_matches('-').to_owned()
    }
}

fn service(name: &str, host: &str, policy: &Policy) -> Value {
    let limits = policy.limits();
    let mut retry = Map::new();
    retry.insert("attempts".to_owned(), retries(policy).into());
    retry.insert("retryOn".to_owned(), "5xx,reset,connect-failure".into());
    retry.insert(
        "backoff".to_owned(),
        millis(policy.backoff().base().max(Span::from_millis(1))).into(),
    );
    if let Some(limit) = limits.attempt_timeout() {
        retry.insert("perTryTimeout".to_owned(), millis(limit).into());
    }
    let mut route = json!({
        "name": name,
        "retries": retry,
        "route": [{ "destination": { "host": host } }],
    });
    if let Some(limit) = limits.deadline() {
        route["timeout"] = millis(limit).into();
    }
    json!({
        "apiVersion": "networking.istio.io/v1",
        "kind": "VirtualService",
        "metadata": { "name": host },
        "spec": { "hosts": [host], "http": [route] },
    })
}

fn rule(host: &str, policy: &Policy) -> Option<Value> {
    let mut traffic = Map::new();
    if let Some(plan) = window(policy) {
        let least = plan.floor().rate().millionths().div_ceil(1_000_000);
        let budget =
            json!({ "percent": plan.ratio().as_f64() * 100.0, "minRetryConcurrency": least });
        traffic.insert("retryBudget".to_owned(), budget);
    }
    if let Some(plan) = policy.breaker()
        && let Some(failures) = plan.consecutive()
    {
        let outlier = json!({ "consecutive5xxErrors": failures, "baseEjectionTime": millis(plan.open_time()) });
        traffic.insert("outlierDetection".to_owned(), outlier);
    }
    (!traffic.is_empty()).then(|| {
        json!({
            "apiVersion": "networking.istio.io/v1",
            "kind": "DestinationRule",
            "metadata": { "name": host },
            "spec": { "host": host, "trafficPolicy": traffic },
        })
    })
}
