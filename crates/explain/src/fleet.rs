//! The retries that the budgets of a fleet let through together in a total outage.

use stagger_core::Policy;
use stagger_core::budget::{BudgetPlan, Charge, FloorRate, ThrottlePlan, TokenPlan, WindowPlan};

use crate::figure::float;
use crate::{FleetBudget, Setting};

/// The retries of the whole fleet while every attempt fails; `None` unless rate and fleet are known.
#[must_use]
pub(crate) fn fleet(policy: &Policy, setting: &Setting) -> Option<FleetBudget> {
    let (rps, processes) = (setting.rps?, f64::from(setting.fleet?));
    let (steady, burst) = one(policy.budget(), rps);
    let wanted = policy.limits().max_attempts().map_or(f64::INFINITY, |n| f64::from(n - 1) * rps);
    Some(FleetBudget {
        retries_per_s: steady.min(wanted) * processes,
        firsts_per_s: rps * processes,
        burst: burst * processes,
        capacity_per_s: setting.downstream_capacity,
    })
}

/// Retries a second that one process may make for ever, and at once when the outage begins.
pub(crate) fn one(plan: &BudgetPlan, rps: f64) -> (f64, f64) {
    match plan {
        BudgetPlan::None => (0.0, 0.0),
        BudgetPlan::Window(plan) => window(plan, rps),
        BudgetPlan::Tokens(plan) => (0.0, stock(plan)),
        BudgetPlan::Throttle(plan) => (0.0, failures(plan)),
        BudgetPlan::Interval(plan) => {
            let retries = f64::from(plan.retries());
            (retries / plan.interval().as_secs_f64(), retries)
        }
        _ => (f64::INFINITY, f64::INFINITY),
    }
}

/// A window's retries a second and retries in hand at rest, at so many first attempts a second.
pub(crate) fn window(plan: &WindowPlan, rps: f64) -> (f64, f64) {
    let ratio = plan.ratio().as_f64();
    let share = if ratio > 0.0 { ratio * rps } else { 0.0 };
    let floor = plan.floor().rate().as_f64();
    let length = plan.window().as_secs_f64();
    let reserve = (floor * length).max(f64::from(plan.burst()));
    match plan.floor() {
        FloorRate::Add(_) => (share + floor, share * length + reserve),
        FloorRate::AtLeast(_) => (share.max(floor), (share * length).max(reserve)),
    }
}

/// A full bucket is spent once; where nothing succeeds, nothing fills it again.
fn stock(plan: &TokenPlan) -> f64 {
    f64::from(plan.capacity() / plan.cost(Charge::Retry))
}

/// Failures until the throttle refuses, each of which may be retried but the last.
fn failures(plan: &ThrottlePlan) -> f64 {
    float(plan.level(plan.start()).retries).max(1.0) - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fleet_retries_a_tenth_of_its_calls_and_the_floor_of_each_process() {
        let setting = Setting { rps: Some(500.0), fleet: Some(40), ..Setting::default() };
        let budget = fleet(&Policy::default(), &setting).expect("both are known");
        assert_eq!(
            budget.retries_per_s,
            40.0 * (50.0 + 0.05),
            "a tenth, and one in twenty seconds"
        );
        assert_eq!(fleet(&Policy::default(), &Setting::default()), None);
    }
}
