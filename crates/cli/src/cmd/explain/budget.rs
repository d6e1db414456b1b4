//! A budget in words.

use stagger_core::budget::{BudgetPlan, Charge, FloorRate, WindowPlan};

use super::glued::{brief, percent};

/// The budget's grants in words.
pub(super) fn budget(plan: &BudgetPlan) -> String {
    match plan {
        BudgetPlan::None => "The budget grants no retry.".to_owned(),
        BudgetPlan::Window(plan) => {
            let share = percent(plan.ratio().as_f64());
            let window = brief(plan.window());
            let floor = plan.floor().rate().as_f64();
            let earned = match plan.floor() {
                _ if floor == 0.0 => String::new(),
                FloorRate::Add(_) => format!(", and {floor} a second besides"),
                FloorRate::AtLeast(_) => format!(", or {floor} a second where that is more"),
            };
            format!(
                "The budget grants {share} of the first attempts{earned}. Unspent grants expire after \
                 {window}; {} are in hand at rest.",
                in_hand(plan)
            )
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

/// The whole retries that a window holds without first attempts.
fn in_hand(plan: &WindowPlan) -> u64 {
    plan.reserve() / 1_000_000
}
