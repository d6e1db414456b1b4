//! The ledgers of all processes.

use stagger_core::Policy;
use stagger_core::breaker::Breaker;
use stagger_core::budget::BudgetPlan;
use stagger_core::hedge::HedgePlan;
use stagger_core::retry::PlainLedger;

use super::deposit::{DepositBucket, Lifetime};
use super::intervals::Intervals;
use super::leased::Leased;
use super::process_ledger::{LedgerRule, ProcessLedger};
use super::store::PermitStore;
use super::window_block::WindowBlock;
use crate::plan::{self, CallerLayer, RunPlan, Scope};
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
        ProcessLedger::new(kind, breaker, draws, number).measuring(&policy).steady(steady)
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
    if measured || caller.policy.hints().is_shared() {
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
