//! When a breaker opens, for how long, and how it closes again: one file a rule.

mod lease;
mod open_time;
mod probes;
mod row;
mod share;
mod slow;
mod throttled;
mod wait;

use stagger_core::Policy;

use crate::{Finding, Setting};

pub(super) fn lint(policy: &Policy, setting: &Setting, found: &mut Vec<Finding>) {
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
