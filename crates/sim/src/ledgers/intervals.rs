//! Interval budgets of many processes, of which few ever retry.

use std::collections::BTreeMap;

use stagger_core::Instant;
use stagger_core::budget::{IntervalPlan, IntervalState, Paid};

/// The engine's interval budget, once for each process, kept for those alone that have asked.
///
/// Nothing but a grant changes such a budget, so a process that never asked needs none. That makes
/// room for millions of processes.
#[derive(Clone, Debug)]
pub(crate) struct Intervals {
    plan: IntervalPlan,
    states: BTreeMap<u32, IntervalState>,
    process: u32,
}

impl Intervals {
    pub(super) const fn new(plan: IntervalPlan) -> Self {
        Self { plan, states: BTreeMap::new(), process: 0 }
    }

    /// Selects the process whose budget is asked next.
    #[inline]
    pub(super) const fn turn_to(&mut self, process: u32) {
        self.process = process;
    }

    pub(super) fn ask(&mut self, now: Instant) -> Option<Paid> {
        self.plan.ask(self.states.entry(self.process).or_default(), now)
    }

    pub(super) fn refund(&mut self, paid: Paid) {
        if let Some(state) = self.states.get_mut(&self.process) {
            self.plan.refund(state, paid);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stagger_core::Span;
    use stagger_core::budget::{Budget, Charge};

    #[test]
    fn every_process_is_granted_what_a_budget_of_its_own_would_grant() {
        let plan = IntervalPlan::new(2, Span::from_secs(3)).expect("valid");
        let mut shared = Intervals::new(plan);
        let mut own = vec![Budget::new(plan.into()); 5];
        for step in 0..1_000_u64 {
            let now = Instant::ORIGIN + Span::from_millis(100 * step);
            let process = (step * 7 % 5) as usize;
            shared.turn_to(u32::try_from(process).expect("a few processes"));
            let (paid, expected) = (shared.ask(now), own[process].ask(now, Charge::Retry));
            assert_eq!(paid, expected, "{step}");
            if let (Some(paid), 0) = (paid, step % 3) {
                shared.refund(paid);
                own[process].refund(now, paid);
            }
        }
        assert_eq!(shared.states.len(), 5);
    }
}
