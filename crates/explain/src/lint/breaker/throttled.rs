//! `breaker-throttled`: a server that asks for less load is not called at all.

use stagger_core::breaker::BreakerPlan;

use super::super::figure::percent;
use crate::{Code, PolicyFinding};

pub(super) fn lint(plan: &BreakerPlan) -> Option<PolicyFinding> {
    if !plan.throttled_fails() {
        return None;
    }
    let open = plan.open_time();
    let message = match plan.ratio() {
        Some(ratio) => format!(
            "throttled calls count as failures: a server that turns away {} of the calls serves {}, \
             and gets none for {open}",
            percent(ratio.as_f64()),
            percent(1.0 - ratio.as_f64())
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
