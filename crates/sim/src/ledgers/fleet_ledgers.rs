//! The ledgers of all processes, and the store that a whole fleet leases its permits from.

use stagger_core::breaker::Breaker;
use stagger_core::budget::{Budget, BudgetPlan, Charge, Paid, Settled};
use stagger_core::hedge::HedgePlan;
use stagger_core::retry::PlainLedger;
use stagger_core::{Instant, Policy};

use super::foreign::{DepositBucket, Lifetime, WindowBlock};
use super::leased::{LeaseRequest, Leased};
use super::process_ledger::{Intervals, LedgerRule, ProcessLedger};
use crate::plan;
use crate::plan::{CallerLayer, RunPlan, Scope, SharedBudget};
use crate::streams::{Draw, Purpose, RandomStream};

/// One ledger for each layer, process and, where they are kept apart, shard.
#[derive(Debug)]
pub(crate) struct FleetLedgers {
    ledgers: Vec<ProcessLedger>,
    /// The only ledger is told whose it is.
    one_for_all: bool,
    processes: u32,
    shards: u32,
    store: Option<PermitStore>,
}

impl FleetLedgers {
    pub(crate) fn new(plan: &RunPlan, seed: u64) -> Self {
        let fleet = &plan.fleet;
        let processes = fleet.processes.max(1);
        let shards = if fleet.scope == Scope::Shard { plan.backend.shard_count() } else { 1 };
        let draws = RandomStream::new(seed, Purpose::Breaker);
        let ledgers = match one_for_all(plan) {
            Some(kind) => vec![ProcessLedger::new(kind, None, draws, 0)],
            None => one_each(plan, processes * shards, draws),
        };
        let store = match fleet.ledger {
            plan::LedgerModel::Shared(rule) => Some(PermitStore::new(rule, seed)),
            _ => None,
        };
        let one_for_all = ledgers.len() == 1;
        Self { ledgers, one_for_all, processes, shards, store }
    }

    /// The number of the ledger for this call.
    #[inline]
    pub(crate) const fn number(&self, layer: u8, id: u32, shard: u32) -> u32 {
        let shard = if self.shards > 1 { shard } else { 0 };
        let process = if self.processes > 1 { id % self.processes } else { 0 };
        (layer as u32 * self.processes + process) * self.shards + shard
    }

    #[inline]
    pub(crate) fn of(&mut self, number: u32) -> &mut ProcessLedger {
        if self.one_for_all {
            let ledger = &mut self.ledgers[0];
            ledger.turn_to(number);
            return ledger;
        }
        &mut self.ledgers[number as usize]
    }

    /// The store that ledgers lease from.
    pub(crate) const fn store(&mut self) -> Option<&mut PermitStore> {
        self.store.as_mut()
    }
}

/// A ledger for each layer and each place in it.
fn one_each(plan: &RunPlan, places: u32, draws: RandomStream) -> Vec<ProcessLedger> {
    let of_layer = |caller: &CallerLayer| {
        let policy = caller.policy;
        (0..places).map(move |_| policy)
    };
    let all = (0..).zip(plan.all_callers().flat_map(of_layer));
    let ledger = |(number, policy): (u32, Policy)| {
        let policy = in_random_phase(policy, draws.at(number, 0));
        let kind = kind(plan.fleet.ledger, &policy);
        let breaker = match kind {
            LedgerRule::Engine(_) => None,
            _ => policy.breaker().copied().map(Breaker::new).map(Box::new),
        };
        let steady = plan.fleet.steady_breakers;
        let ledger = ProcessLedger::new(kind, breaker, draws, number).measuring(&policy);
        ledger.limiting(&policy).steady(steady)
    };
    all.map(ledger).collect()
}

/// The policy of one ledger: windows of many processes do not earn whole retries in step.
fn in_random_phase(policy: Policy, mut draw: Draw) -> Policy {
    let &BudgetPlan::Window(plan) = policy.budget() else { return policy };
    let phased = policy.to_builder().budget(plan.in_random_phase(&mut draw)).build();
    phased.unwrap_or(policy)
}

/// One ledger for all processes, where each of theirs would remember nothing, or its own grants
/// alone.
fn one_for_all(plan: &RunPlan) -> Option<LedgerRule> {
    let mut all_callers = plan.all_callers();
    let (Some(caller), None) = (all_callers.next(), all_callers.next()) else { return None };
    let measured = caller.policy.hedge().is_some_and(HedgePlan::is_measured);
    let policy = &caller.policy;
    let limited = policy.adaptive().is_some()
        || policy.concurrency_limit().is_some()
        || policy.rate_limit().is_some();
    if measured || limited || caller.policy.hints().is_shared() {
        return None;
    }
    match (kind(plan.fleet.ledger, &caller.policy), caller.policy.budget()) {
        (LedgerRule::Free, _) => Some(LedgerRule::Free),
        (LedgerRule::Engine(ledger), &BudgetPlan::Interval(rule)) if ledger.breaker().is_none() => {
            Some(LedgerRule::Intervals(Intervals::new(rule)))
        }
        _ => None,
    }
}

fn kind(model: plan::LedgerModel, policy: &Policy) -> LedgerRule {
    match model {
        plan::LedgerModel::WindowBlock => match policy.budget() {
            BudgetPlan::Window(rule) => LedgerRule::WindowBlock(Box::new(WindowBlock::new(*rule))),
            _ => kind(plan::LedgerModel::Engine, policy),
        },
        plan::LedgerModel::Engine if policy.breaker().is_none() && is_free(policy) => {
            LedgerRule::Free
        }
        plan::LedgerModel::Engine => LedgerRule::Engine(PlainLedger::new(policy)),
        plan::LedgerModel::Deposit(rule) => LedgerRule::Deposit(DepositBucket::new(rule)),
        plan::LedgerModel::Lifetime(most) => LedgerRule::Lifetime(Lifetime::new(most)),
        plan::LedgerModel::Shared(rule) => LedgerRule::Leased(Box::new(Leased::new(&rule))),
    }
}

fn is_free(policy: &Policy) -> bool {
    *policy.budget() == BudgetPlan::Unlimited
}

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
    use stagger_core::budget::{FloorRate, TokenPlan, WindowPlan};
    use stagger_core::{Rate, Ratio, Span};

    use super::*;
    use crate::plan::{Away, Stretch};

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
