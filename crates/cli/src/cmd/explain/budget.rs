//! A budget in words.

use stagger_core::budget::{BudgetPlan, Charge, Floor};

use super::glued::{brief, percent};

/// What the budget grants.
pub(super) fn budget(plan: &BudgetPlan) -> String {
    match plan {
        BudgetPlan::None => "The budget grants no retry.".to_owned(),
        BudgetPlan::Window(plan) => {
            let share = percent(plan.ratio().as_f64());
            let window = brief(plan.window());
            match plan.floor() {
                Floor::Add(0) | Floor::AtLeast(0) => {
                    format!("The budget grants {share} of the first attempts of the last {window}.")
                }
                Floor::Add(floor) => format!(
                    "The budget grants {share} of the first attempts of the last {window}, and \
                     {floor} a second besides."
                ),
                Floor::AtLeast(floor) => format!(
                    "The budget grants {share} of the first attempts of the last {window}, or \
                     {floor} a second where that is more."
                ),
            }
        }
        BudgetPlan::Tokens(plan) => format!(
            "The budget is a bucket of {} tokens: a retry takes {}, a success at the first attempt \
             brings {}, and one after a retry what that retry took.",
            plan.capacity(),
            plan.cost(Charge::Retry),
            plan.first_try()
        ),
        BudgetPlan::Throttle(plan) => format!(
            "The budget is a throttle of {} tokens: a failure takes 1, a success brings {}, and at \
             half of them there are no retries.",
            plan.max_tokens(),
            plan.token_ratio().as_f64()
        ),
        BudgetPlan::Interval(plan) => {
            format!("The budget grants {} in any {}.", plan.retries(), brief(plan.interval()))
        }
        _ => "The budget is unlimited: nothing bounds retries in an outage.".to_owned(),
    }
}
