//! One node's part of a fleet's budget.

use super::{BudgetPlan, Charge, FloorRate, IntervalPlan, ThrottlePlan, TokenPlan, WindowPlan};

impl BudgetPlan {
    /// The part of one node of so many, at least 1, rounded down: all of them together never have
    /// more than the fleet. A node whose part is less than one retry has none.
    ///
    /// A share of a node's own first attempts is its part already; the floor is the fleet's.
    ///
    /// ```
    /// use stagger_core::budget::{BudgetPlan, TokenPlan};
    /// let BudgetPlan::Tokens(part) = BudgetPlan::from(TokenPlan::aws_2_0()).share_of(40) else {
    ///     panic!("a part is of the same kind")
    /// };
    /// assert_eq!(part.capacity(), 500 / 40);
    /// assert_eq!(BudgetPlan::from(TokenPlan::aws_2_0()).share_of(101), BudgetPlan::None);
    /// ```
    #[must_use]
    pub fn share_of(self, nodes: u32) -> Self {
        let nodes = nodes.max(1);
        let share = match self {
            Self::Window(plan) => of_window(plan, nodes),
            Self::Tokens(plan) => of_tokens(plan, nodes),
            Self::Throttle(plan) => {
                ThrottlePlan::new(plan.max_tokens() / nodes, plan.token_ratio())
                    .ok()
                    .map(Into::into)
            }
            Self::Interval(plan) => {
                let retries = u32::from(plan.retries()) / nodes;
                let retries = u8::try_from(retries).unwrap_or(0);
                IntervalPlan::new(retries, plan.interval()).ok().map(Into::into)
            }
            Self::Unlimited | Self::None => Some(self),
        };
        share.unwrap_or(Self::None)
    }
}

fn of_window(plan: WindowPlan, nodes: u32) -> Option<BudgetPlan> {
    let floor = match plan.floor() {
        FloorRate::Add(rate) => FloorRate::Add(rate.split(nodes)),
        FloorRate::AtLeast(rate) => FloorRate::AtLeast(rate.split(nodes)),
    };
    plan.with_floor(floor).with_burst(plan.burst() / nodes).ok().map(Into::into)
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
    use crate::{Rate, Ratio};

    #[test]
    fn all_parts_together_are_never_more_than_the_whole() {
        let tokens = TokenPlan::aws_2_0();
        for nodes in 1..=200 {
            match BudgetPlan::from(tokens).share_of(nodes) {
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
        let plan = plan.with_floor(FloorRate::Add(Rate::per_second(10)));
        let BudgetPlan::Window(share) = BudgetPlan::from(plan).share_of(4) else {
            panic!("another kind")
        };
        let per_second = Rate::try_from(2.5).expect("valid");
        assert_eq!(
            (share.ratio(), share.floor()),
            (Ratio::from_percent(20), FloorRate::Add(per_second))
        );
        assert_eq!(share.burst(), 0, "two retries among four nodes");
    }

    #[test]
    fn a_part_of_less_than_a_retry_is_none() {
        let throttle = ThrottlePlan::new(10, Ratio::from_percent(10)).expect("valid");
        assert_eq!(BudgetPlan::from(throttle).share_of(11), BudgetPlan::None);
    }

    #[test]
    fn an_unlimited_share_stays_unlimited() {
        assert_eq!(BudgetPlan::Unlimited.share_of(7), BudgetPlan::Unlimited);
    }
}
