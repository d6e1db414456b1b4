//! Policies as routes of the Gateway API, and backend traffic policies for budgets.

use serde_json::{Value, json};
use stagger_core::{Policy, Span};

use super::istio::resource_name;
use super::times::{millis, retries, window};
use super::yaml;

/// An `HTTPRoute` for each policy, with an `XBackendTrafficPolicy` where it has a budget.
pub(crate) fn gateway_api_text(policies: &[(&str, &Policy)]) -> String {
    let mut pages = Vec::new();
    for (number, (name, policy)) in policies.iter().enumerate() {
        let service = resource_name(name, number);
        pages.push(yaml::document(&route(name, &service, policy)));
        pages.extend(budget(&service, policy).map(|budget| yaml::document(&budget)));
    }
    pages.join("---\n")
}

fn route(name: &str, service: &str, policy: &Policy) -> Value {
    let limits = policy.limits();
    let mut rule = json!({
        "name": name,
        "backendRefs": [{ "name": service, "port": 80 }],
        "timeouts": {},
    });
    if retries(policy) > 0 {
        let base = policy.backoff().base().max(Span::from_millis(1));
        rule["retry"] = json!({ "attempts": retries(policy), "backoff": millis(base), "codes": [502, 503, 504] });
    }
    if let Some(limit) = limits.deadline() {
        rule["timeouts"]["request"] = millis(limit).into();
    }
    if let Some(limit) = limits.attempt_timeout() {
        rule["timeouts"]["backendRequest"] = millis(limit).into();
    }
    json!({
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": { "name": service },
        "spec": { "parentRefs": [{ "name": "gateway" }], "rules": [rule] },
    })
}

fn budget(service: &str, policy: &Policy) -> Option<Value> {
    let plan = window(policy)?;
    let least = plan.floor().rate().millionths().div_ceil(1_000_000).max(1);
    Some(json!({
        "apiVersion": "gateway.networking.x-k8s.io/v1alpha1",
        "kind": "XBackendTrafficPolicy",
        "metadata": { "name": service },
        "spec": {
            "targetRefs": [{ "group": "", "kind": "Service", "name": service }],
            "retryConstraint": {
                "budget": { "percent": plan.ratio().ppm() / 10_000, "interval": millis(plan.window()) },
                "minRetryRate": { "count": least, "interval": "1s" },
            },
        },
    }))
}
