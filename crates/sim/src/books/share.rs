//! One node's part of a fleet's budget.

use stagger_core::budget::{
    BudgetPlan, Charge, Floor, IntervalPlan, ThrottlePlan, TokenPlan, WindowPlan,
};

/// The budget of one node of so many, rounded down, so that all of them together never have more
/// than the fleet. A node whose part is less than one retry has none.
pub(super) fn share_of(fleet: BudgetPlan, nodes: u32) -> BudgetPlan {
    let nodes = nodes.max(1);
    let share = match fleet {
        BudgetPlan::Window(plan) => of_window(plan, nodes),
        BudgetPlan::Tokens(plan) => of_tokens(plan, nodes),
        BudgetPlan::Throttle(plan) => {
            ThrottlePlan::new(plan.max_tokens() / nodes, plan.token_ratio()).ok().map(Into::into)
        }
        BudgetPlan::Interval(plan) => {
            let retries = u32::from(plan.retries()) / nodes;
            let retries = u8::try_from(retries).unwrap_or(0);
            IntervalPlan::new(retries, plan.interval()).ok().map(Into::into)
        }
        null => Some(null),
    };
    share.unwrap_or(BudgetPlan::None)
}

/// A share of a node's own first attempts is its part already; the floor is the fleet's.
fn of_window(plan: WindowPlan, nodes: u32) -> Option<BudgetPlan> {
    let floor = match plan.floor() {
        Floor::Add(rate) => Floor::Add(rate / nodes),
        Floor::AtLeast(rate) => Floor::AtLeast(rate / nodes),
    };
    plan.with_floor(floor).ok().map(Into::into)
}

fn of_tokens(plan: TokenPlan, nodes: u32) -> Option<BudgetPlan> {
    let cost = |charge| plan.cost(charge);
    let share = TokenPlan::new(plan.capacity() / nodes, cost(Charge::Retry)).ok()?;
    // A charge that the smaller bucket could never pay stays at the price of a retry.
    let share = share.with_timeout(cost(Charge::Timeout)).unwrap_or(share);
    let share = share.with_throttled(cost(Charge::Throttled)).unwrap_or(share);
    let share = share.with_hedge(cost(Charge::Hedge)).unwrap_or(share);
    let credit = plan.first_try().min(share.capacity());
    let share = share.with_first_try(credit).unwrap_or(share);
    share.with_initial(plan.initial() / nodes).ok().map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;
    use stagger_core::Ratio;

    #[test]
    fn all_parts_together_are_never_more_than_the_whole() {
        let tokens = TokenPlan::aws_2_0();
        for nodes in 1..=200 {
            match share_of(tokens.into(), nodes) {
                BudgetPlan::Tokens(share) => {
                    assert!(share.capacity() * nodes <= 500 && share.initial() * nodes <= 500);
                    assert_eq!(share.cost(Charge::Retry), 5);
                }
                none => assert_eq!((none, nodes > 100), (BudgetPlan::None, true), "{nodes} nodes"),
            }
        }
    }

    #[test]
    fn a_share_of_traffic_needs_no_division_and_its_floor_does() {
        let plan = WindowPlan::new(Ratio::from_percent(20)).expect("valid");
        let plan = plan.with_floor(Floor::Add(10)).expect("valid");
        let BudgetPlan::Window(share) = share_of(plan.into(), 4) else { panic!("another kind") };
        assert_eq!((share.ratio(), share.floor()), (Ratio::from_percent(20), Floor::Add(2)));
    }

    #[test]
    fn a_part_of_less_than_a_retry_is_none() {
        let throttle = ThrottlePlan::new(10, Ratio::from_percent(10)).expect("valid");
        assert_eq!(share_of(throttle.into(), 11), BudgetPlan::None);
    }
}
