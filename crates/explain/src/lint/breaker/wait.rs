//! `breaker-wait-unbounded`: a call waits for an open breaker for as long as an outage lasts.

use stagger_core::breaker::BreakerPlan;
use stagger_core::{Policy, Span};

use crate::{Code, PolicyFinding};

pub(super) fn lint(policy: &Policy, plan: &BreakerPlan) -> Option<PolicyFinding> {
    if !policy.waits_for_breaker() || policy.limits().deadline().is_some() {
        return None;
    }
    // An open time is stretched by up to a half.
    let cap = plan.open_cap();
    let most = cap.saturating_add(Span::from_nanos(cap.as_nanos() / 2));
    Some(PolicyFinding::warning(
        Code::BreakerWaitUnbounded,
        "on_refusal.wait_for_breaker",
        format!(
            "a call waits for an open breaker up to {most} at a time, and no deadline ends it while \
             the outage lasts"
        ),
        "deadline = ..., or wait_for_breaker = false",
    ))
}
