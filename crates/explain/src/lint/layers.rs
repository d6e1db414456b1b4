//! `nested-layers`: layers that retry multiply.

use stagger_core::Policy;
use stagger_core::budget::BudgetPlan;

use crate::{Code, PolicyFinding, Setting};

pub(super) fn lint(policy: &Policy, setting: &Setting, found: &mut Vec<PolicyFinding>) {
    let Some(layers) = setting.layers.filter(|layers| *layers > 1) else { return };
    let attempts = policy.limits().max_attempts();
    if attempts == Some(1) {
        return;
    }
    let figure = match attempts {
        Some(attempts) => {
            let lowest = u64::from(attempts).checked_pow(layers);
            let lowest = lowest.map_or_else(|| "more than 10^19".to_owned(), |n| n.to_string());
            format!("{attempts} attempts in each of {layers} layers are {lowest} at the lowest")
        }
        None => format!("{layers} layers multiply attempts that nothing but time bounds"),
    };
    let (key, fix) = (
        "limits.max_attempts",
        "max_attempts = 1 in all layers but one: the one that knows whether the call is still wanted",
    );
    let open = *policy.budget() == BudgetPlan::Unlimited;
    found.push(if open {
        let message = format!("{figure}, and no budget stops them");
        PolicyFinding::error(Code::NestedLayers, key, message, fix)
    } else {
        let message = format!("{figure}, until the budgets are empty");
        PolicyFinding::warning(Code::NestedLayers, key, message, fix)
    });
}
