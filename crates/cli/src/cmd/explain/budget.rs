//! Budgets in words: that of a process, and those of a fleet against the capacity of its destination.

use stagger_core::Span;
use stagger_core::budget::{BudgetPlan, Charge, FloorRate, WindowPlan};
use stagger_explain::FleetBudget;

use super::account::{Account, brief, grouped, percent};

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

/// The fleet's load in a total outage, against the capacity of the destination.
pub(super) fn fleet(account: &Account, fleet: &FleetBudget) -> String {
    let processes = account.setting.fleet.unwrap_or(1);
    let mut said = format!(
        "{processes} processes make {} first attempts a second; in a total outage their budgets let \
         {} retries a second through",
        count(fleet.firsts_per_s),
        count(fleet.retries_per_s)
    );
    said += &match fleet.burst.is_finite() {
        true => format!(", and {} at once when it begins.", count(fleet.burst)),
        false => ", and as many at once as there are calls when it begins.".to_owned(),
    };
    match fleet.capacity_per_s {
        Some(capacity) => said + " " + &against(fleet, capacity),
        None => said,
    }
}

fn against(fleet: &FleetBudget, capacity: f64) -> String {
    let all = fleet.firsts_per_s + fleet.retries_per_s;
    let served = format!("The destination serves {} a second", count(capacity));
    if fleet.firsts_per_s >= capacity {
        return format!("{served}: the first attempts alone are more than that.");
    }
    if all > capacity {
        return format!(
            "{served}, and gets {}: its queue grows for as long as the failures last.",
            count(all)
        );
    }
    let spare = capacity - fleet.firsts_per_s;
    match fleet.burst.is_finite() {
        true => format!(
            "{served}, and gets {} at most: the first burst is worked off in {}.",
            count(all),
            brief(seconds(fleet.burst / spare))
        ),
        false => format!("{served}, and gets {} at most.", count(all)),
    }
}

fn count(value: f64) -> String {
    match value {
        value if !value.is_finite() => "any number of".to_owned(),
        value if value >= 100.0 => grouped(value),
        value => {
            let digits = format!("{value:.2}");
            digits.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    }
}

fn seconds(seconds: f64) -> Span {
    // OK because a float is cut to the bounds of the integer.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let nanos = (seconds * 1e9) as u64;
    Span::from_nanos(nanos)
}
