//! All rules of a breaker, in the order of their findings.

use stagger_core::Policy;

use super::{lease, open_time, probes, row, share, slow, throttled, wait};
use crate::{PolicyFinding, Setting};

pub(in crate::lint) fn lint(policy: &Policy, setting: &Setting, found: &mut Vec<PolicyFinding>) {
    let Some(plan) = policy.breaker() else { return };
    share::lint(plan, setting, found);
    found.extend(row::lint(plan));
    found.extend(slow::lint(policy, plan));
    found.extend(throttled::lint(plan));
    found.extend(open_time::lint(plan));
    found.extend(probes::lint(plan));
    found.extend(lease::lint(policy, plan));
    found.extend(wait::lint(policy, plan));
}
