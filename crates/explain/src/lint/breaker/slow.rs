//! `breaker-slow-unreachable`: no call can be slow.

use stagger_core::Policy;
use stagger_core::breaker::BreakerPlan;

use super::super::figure::rounded_down;
use crate::{Code, PolicyFinding};

pub(super) fn lint(policy: &Policy, plan: &BreakerPlan) -> Option<PolicyFinding> {
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
