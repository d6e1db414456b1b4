//! All rules of a breaker, in the order of their findings.

use stagger_core::Policy;

use super::{open_time, outcomes, probes, row, share};
use crate::{PolicyFinding, Setting};

pub(in crate::lint) fn lint(policy: &Policy, setting: &Setting, found: &mut Vec<PolicyFinding>) {
    let Some(plan) = policy.breaker() else { return };
    share::lint(plan, setting, found);
    found.extend(row::lint(plan));
    found.extend(outcomes::slow_unreachable(policy, plan));
    found.extend(outcomes::throttled_fails(plan));
    found.extend(open_time::open_time(plan));
    found.extend(probes::many_probes(plan));
    found.extend(probes::short_lease(policy, plan));
    found.extend(open_time::unbounded_wait(policy, plan));
}
