//! All rules, one after the other.

use stagger_core::Policy;

use super::{adaptive, attempt_limits, attempts, breaker, budget, deadline, delays, hints};
use crate::{PolicyFinding, Setting};

type LintRule = fn(&Policy, &Setting, &mut Vec<PolicyFinding>);

/// In the order in which a policy is written.
const RULES: [LintRule; 17] = [
    delays::lint,
    delays::mass_at_cap,
    delays::short_base,
    delays::throttled_sooner,
    hints::over_slo,
    deadline::lint,
    attempts::too_many_attempts,
    budget::lint,
    budget::floor_rate,
    budget::fleet_budget,
    attempts::not_idempotent,
    hints::lint,
    breaker::lint,
    attempts::nested_layers,
    attempts::hedged,
    adaptive::lint,
    attempt_limits::lint,
];

/// Finds the faults of a policy, as far as the facts about its calls tell.
///
/// ```
/// use stagger_core::{Policy, Span};
/// use stagger_explain::{Code, Setting, lint};
/// let policy = Policy::interactive();
/// assert_eq!(lint(&policy, &Setting::default()), []);
/// let setting = Setting { slo: Some(Span::from_secs(2)), ..Setting::default() };
/// assert_eq!(lint(&policy, &setting)[0].code, Code::OverSlo);
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[must_use]
pub fn lint(policy: &Policy, setting: &Setting) -> Vec<PolicyFinding> {
    let mut found = Vec::new();
    for rule in RULES {
        rule(policy, setting, &mut found);
    }
    found
}
