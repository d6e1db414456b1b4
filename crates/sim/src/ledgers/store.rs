//! The store that a whole fleet leases its permits from.

use stagger_core::Instant;
use stagger_core::budget::{Budget, Charge, Paid, Settled};

use super::leased::LeaseRequest;
use crate::plan::SharedBudget;
use crate::streams::{Purpose, RandomStream};

/// One budget of the engine's, for all processes.
#[derive(Clone, Debug)]
pub(crate) struct PermitStore {
    rule: SharedBudget,
    budget: Budget,
    /// The price of the last permit, which a success after one brings back.
    price: Paid,
    losses: RandomStream,
    requests: u32,
}

impl PermitStore {
    pub(super) fn new(rule: SharedBudget, seed: u64) -> Self {
        let losses = RandomStream::new(seed, Purpose::Store);
        Self { rule, budget: Budget::new(rule.budget), price: Paid::FREE, losses, requests: 0 }
    }

    pub(crate) const fn rule(&self) -> &SharedBudget {
        &self.rule
    }

    /// The number of permits that are leased out; `None` when the request is lost, or nobody is
    /// there to hear it.
    pub(crate) fn serve(
        &mut self,
        now: Instant,
        process: u32,
        request: LeaseRequest,
    ) -> Option<u32> {
        self.requests += 1;
        if self.rule.down.is_some_and(|down| down.from <= now && now < down.until) {
            return None;
        }
        if self.losses.at(process, self.requests).happens(self.rule.loss) {
            return None;
        }
        self.note(now, request);
        Some(self.lease(now))
    }

    fn note(&mut self, now: Instant, request: LeaseRequest) {
        for _ in 0..request.firsts {
            self.budget.on_first(now);
        }
        for (settled, times) in [
            (Settled::FirstTry, request.first_tries),
            (Settled::AfterRetry(self.price), request.after_retry),
            (Settled::Failed, request.failed),
        ] {
            for _ in 0..times {
                self.budget.on_settled(now, settled);
            }
        }
    }

    fn lease(&mut self, now: Instant) -> u32 {
        let mut granted = 0;
        while granted < self.rule.lease.max(1) {
            let Some(paid) = self.budget.ask(now, Charge::Retry) else { break };
            self.price = paid;
            granted += 1;
        }
        granted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Away, Stretch};
    use stagger_core::budget::{FloorRate, TokenPlan, WindowPlan};
    use stagger_core::{Rate, Ratio, Span};

    fn rule() -> SharedBudget {
        SharedBudget {
            budget: TokenPlan::new(20, 5).expect("a valid bucket").into(),
            lease: 3,
            latency: Span::ZERO,
            loss: Ratio::ZERO,
            again: Span::from_secs(1),
            down: None,
            away: Away::Refuse,
        }
    }

    const NEWS: LeaseRequest =
        LeaseRequest { firsts: 0, first_tries: 0, after_retry: 0, failed: 0 };

    #[test]
    fn leases_end_where_the_bucket_does_and_a_success_pays_back_the_whole_price() {
        let mut store = PermitStore::new(rule(), 1);
        let now = Instant::ORIGIN;
        let leases = [(); 3].map(|()| store.serve(now, 0, NEWS));
        assert_eq!(leases, [Some(3), Some(1), Some(0)], "20 tokens are four retries");
        let one = LeaseRequest { after_retry: 1, ..NEWS };
        assert_eq!(store.serve(now, 0, one), Some(1), "5 tokens are back");
        let first_tries = LeaseRequest { first_tries: 10, ..NEWS };
        assert_eq!(store.serve(now, 0, first_tries), Some(2));
    }

    #[test]
    fn a_share_of_first_attempts_is_counted_over_all_processes() {
        let plan = WindowPlan::new(Ratio::from_percent(10)).expect("valid");
        let plan = plan.with_floor(FloorRate::Add(Rate::ZERO));
        let mut store =
            PermitStore::new(SharedBudget { budget: plan.into(), lease: 100, ..rule() }, 1);
        let fifty = LeaseRequest { firsts: 50, ..NEWS };
        assert_eq!(store.serve(Instant::ORIGIN, 0, fifty), Some(5));
        assert_eq!(store.serve(Instant::ORIGIN, 1, fifty), Some(5));
        assert_eq!(store.serve(Instant::ORIGIN, 2, NEWS), Some(0));
    }

    #[test]
    fn a_store_that_is_down_hears_nothing() {
        let second = Instant::ORIGIN + Span::from_secs(1);
        let down = Some(Stretch { from: Instant::ORIGIN, until: second });
        let mut store = PermitStore::new(SharedBudget { down, ..rule() }, 1);
        assert_eq!(store.serve(Instant::ORIGIN, 0, NEWS), None);
        assert_eq!(store.serve(second, 0, NEWS), Some(3));
    }

    #[test]
    fn so_many_requests_are_lost_as_the_plan_says() {
        let loss = Ratio::from_percent(30);
        let mut store = PermitStore::new(SharedBudget { loss, ..rule() }, 1);
        let lost = (0..10_000).filter(|&n| store.serve(Instant::ORIGIN, n, NEWS).is_none()).count();
        // 3000, give or take six standard deviations of 46.
        assert!(lost.abs_diff(3_000) < 276, "{lost}");
    }
}
