//! Rules of the outcomes that count: `breaker-slow-unreachable`, no call can be slow; `breaker-throttled`, a
//! server that asks for less load is not called at all.

use stagger_core::Policy;
use stagger_core::breaker::BreakerPlan;
use stagger_text::rough_percent;

use super::super::figure::rounded_down;
use crate::{Code, PolicyFinding};

pub(super) fn slow_unreachable(policy: &Policy, plan: &BreakerPlan) -> Option<PolicyFinding> {
    let ((after, _), timeout) = (plan.slow_calls()?, policy.limits().attempt_timeout()?);
    (after >= timeout).then(|| {
        let half = stagger_core::Span::from_nanos(timeout.as_nanos() / 2);
        PolicyFinding::warning(
            Code::BreakerSlowUnreachable,
            "breaker.slow_after",
            format!(
                "a call is slow after {after}, and its attempt is cut off after {timeout}: only \
                 timeouts are that slow, and they fail already"
            ),
            format!(
                "slow_after = \"{}\", or another time below attempt_timeout",
                rounded_down(half)
            ),
        )
    })
}

pub(super) fn throttled_fails(plan: &BreakerPlan) -> Option<PolicyFinding> {
    if !plan.throttled_fails() {
        return None;
    }
    let open = plan.open_time();
    let message = match plan.ratio() {
        Some(ratio) => format!(
            "throttled calls count as failures: a server that turns away {} of the calls serves {}, \
             and gets none for {open}",
            rough_percent(ratio.as_f64()),
            rough_percent(1.0 - ratio.as_f64())
        ),
        None => format!(
            "throttled calls count as failures: a server that is up and turns some away gets no call \
             for {open}"
        ),
    };
    Some(PolicyFinding::warning(
        Code::BreakerThrottled,
        "breaker.throttled_fails",
        message,
        "throttled_fails = false, and a [throttled_backoff] with a longer base",
    ))
}
