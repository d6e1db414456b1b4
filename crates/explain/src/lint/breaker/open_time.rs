//! Rules of the open time: `breaker-open-time`, too short to help or too long to notice a recovery;
//! `breaker-wait-unbounded`, a call waits for an open breaker for as long as an outage lasts.

use stagger_core::breaker::BreakerPlan;
use stagger_core::{Policy, Span};
use stagger_text::rough_count;

use crate::{Code, PolicyFinding};

/// The shortest open time: Polly refuses a shorter break.
const SHORTEST: Span = Span::from_millis(500);
/// The longest first open time. Envoy ejects a host for 5 min at most unless it is told otherwise.
const LONGEST: Span = Span::from_secs(10 * 60);
/// The longest open time.
const LONGEST_CAP: Span = Span::from_secs(60 * 60);

pub(super) fn open_time(plan: &BreakerPlan) -> Option<PolicyFinding> {
    let (first, cap) = (plan.open_time(), plan.open_cap());
    if first < SHORTEST {
        let probes = f64::from(plan.probes()) / first.as_secs_f64();
        let message = format!(
            "it opens for {first} at first: a destination that fails gets up to {} probes a second, \
             and no rest",
            rough_count(probes)
        );
        return finding("breaker.open_time", message, "open_time = \"5s\"");
    }
    let late = |open: Span| {
        // An open time is stretched by up to a half.
        let most = open.saturating_add(Span::from_nanos(open.as_nanos() / 2));
        format!(
            "it stays open for up to {most}: that long after a recovery calls are still refused"
        )
    };
    if cap > LONGEST_CAP {
        return finding("breaker.open_cap", late(cap), "open_cap = \"60s\", or some minutes");
    }
    if first > LONGEST {
        return finding(
            "breaker.open_time",
            late(first),
            "open_time = \"5s\", which grows to open_cap",
        );
    }
    None
}

fn finding(key: &'static str, message: String, fix: &str) -> Option<PolicyFinding> {
    Some(PolicyFinding::warning(Code::BreakerOpenTime, key, message, fix))
}

pub(super) fn unbounded_wait(policy: &Policy, plan: &BreakerPlan) -> Option<PolicyFinding> {
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
