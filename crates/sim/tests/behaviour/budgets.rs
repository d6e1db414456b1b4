//! Budgets: the engine's, those of others, and one that a fleet shares.

use stagger_core::budget::{BudgetPlan, IntervalPlan, TokenPlan};
use stagger_core::{Instant, Ratio};
use stagger_sim::{
    Away, CallerLayer, Deposit, Fault, Fleet, LedgerModel, Paying, RunPlan, SharedBudget, Stretch,
    Trouble,
};

use crate::fixture::{at, every, ms, play, policy};

/// Calls every 10 ms, each of two attempts 1 ms apart, to a backend that is dead until `up`.
fn retries(
    up: Instant,
    calls: u32,
    processes: u32,
    budget: BudgetPlan,
    ledger: LedgerModel,
) -> u64 {
    let policy = policy(1, 2).to_builder().budget(budget).build().expect("valid");
    let plan = RunPlan {
        fleet: Fleet { processes, ledger, ..Fleet::default() },
        faults: vec![Fault::new(Trouble::Refuse, Instant::ORIGIN, up)],
        ..every(10, calls, CallerLayer::new(policy))
    };
    play(&plan).retries.total
}

fn dead(calls: u32, processes: u32, budget: BudgetPlan, ledger: LedgerModel) -> u64 {
    retries(Instant::FAR, calls, processes, budget, ledger)
}

#[test]
fn every_process_has_the_engines_budget_for_itself() {
    let bucket = TokenPlan::new(10, 5).expect("valid");
    assert_eq!(dead(100, 1, bucket.into(), LedgerModel::Engine), 2);
    assert_eq!(dead(100, 7, bucket.into(), LedgerModel::Engine), 14);
    assert_eq!(dead(100, 1, BudgetPlan::None, LedgerModel::Engine), 0);
    assert_eq!(dead(100, 1, BudgetPlan::Unlimited, LedgerModel::Engine), 100);
}

#[test]
fn an_interval_budget_is_kept_for_each_process() {
    let once_a_second = IntervalPlan::new(1, ms(1_000)).expect("valid");
    // 400 calls in 4 s, of one process or of each of 4.
    assert_eq!(dead(400, 1, once_a_second.into(), LedgerModel::Engine), 4);
    assert_eq!(dead(400, 4, once_a_second.into(), LedgerModel::Engine), 16);
    assert_eq!(dead(400, 400, once_a_second.into(), LedgerModel::Engine), 400);
}

/// The published bucket, by hand: one call after the other, each paid for and asked for in turn.
fn naive_bucket(calls: u32, paying: Paying, up_from: u32) -> u64 {
    let (retry, most) = (1_000_000, 3_000_000);
    let (mut level, mut retries) = (most, 0);
    for call in 0..calls {
        let pay = |level: u32| (level + 70_000).min(most);
        let up = call >= up_from;
        if paying == Paying::Calls || up {
            level = pay(level);
        }
        if !up && level >= retry {
            level -= retry;
            retries += 1;
        }
    }
    retries
}

#[test]
fn a_bucket_is_paid_by_calls_or_by_successes() {
    for paying in [Paying::Calls, Paying::Successes] {
        let ledger =
            LedgerModel::Deposit(Deposit { paying, amount: Ratio::from_ppm(70_000), bucket: 3 });
        let found = dead(500, 1, BudgetPlan::None, ledger);
        assert_eq!(found, naive_bucket(500, paying, u32::MAX), "{paying:?}");
        // 100 calls that fail and 400 that do not.
        let found = retries(at(1_000), 500, 1, BudgetPlan::None, ledger);
        assert_eq!(found, naive_bucket(500, paying, 100), "{paying:?}");
    }
    assert_eq!(naive_bucket(500, Paying::Successes, u32::MAX), 3);
    assert!(naive_bucket(500, Paying::Calls, u32::MAX) > 35);
}

#[test]
fn a_bucket_of_successes_fills_up_while_all_is_well() {
    // Well for 50 calls after the bucket was emptied: 50 * 7 % = 3.5, of which 3 fit.
    let ledger = LedgerModel::Deposit(Deposit {
        paying: Paying::Successes,
        amount: Ratio::from_ppm(70_000),
        bucket: 3,
    });
    let policy = policy(1, 2).to_builder().budget(BudgetPlan::None).build().expect("valid");
    let down = |from, until| Fault::new(Trouble::Refuse, at(from), at(until));
    let plan = RunPlan {
        fleet: Fleet { ledger, ..Fleet::default() },
        faults: vec![down(0, 500), down(1_000, 2_000)],
        ..every(10, 200, CallerLayer::new(policy))
    };
    assert_eq!(play(&plan).retries.total, 6);
}

#[test]
fn a_lifetime_breaker_lets_no_retry_through_once_too_much_has_failed() {
    let tenth = LedgerModel::Lifetime(Ratio::from_percent(10));
    assert_eq!(dead(100, 1, BudgetPlan::None, tenth), 0);
    // 100 successes, and then each failed call is two failed attempts while it may retry: by hand.
    let (mut attempts, mut failed, mut retries) = (100_u64, 0_u64, 0);
    for _ in 0..100 {
        (attempts, failed) = (attempts + 1, failed + 1);
        if failed * 10 <= attempts {
            (attempts, failed, retries) = (attempts + 1, failed + 1, retries + 1);
        }
    }
    let policy = policy(1, 2).to_builder().budget(BudgetPlan::None).build().expect("valid");
    let plan = RunPlan {
        fleet: Fleet { ledger: tenth, ..Fleet::default() },
        faults: vec![Fault::new(Trouble::Refuse, at(1_000), Instant::FAR)],
        ..every(10, 200, CallerLayer::new(policy))
    };
    assert!(retries > 3);
    assert_eq!(play(&plan).retries.total, retries);
}

/// 60 retries for a fleet, leased one by one.
fn shared() -> SharedBudget {
    SharedBudget {
        budget: TokenPlan::new(300, 5).expect("valid").into(),
        lease: 1,
        // The request of a call's start is answered before its attempt has failed and asks.
        latency: stagger_core::Span::ZERO,
        loss: Ratio::ZERO,
        again: ms(100),
        down: None,
        away: Away::Refuse,
    }
}

fn fleet(processes: u32, rule: SharedBudget) -> u64 {
    dead(2_000, processes, rule.budget, LedgerModel::Shared(rule))
}

#[test]
fn a_shared_budget_is_one_for_any_number_of_processes() {
    let one = fleet(1, shared());
    let many = fleet(20, shared());
    assert!((59..=60).contains(&one), "{one}");
    assert!((40..=60).contains(&many), "{many}");
    assert_eq!(dead(2_000, 20, shared().budget, LedgerModel::Engine), 1_200, "and not 60 for each");
}

#[test]
fn leases_that_are_lost_are_asked_for_again() {
    let lossy = SharedBudget { loss: Ratio::from_percent(50), ..shared() };
    let found = fleet(20, lossy);
    assert!((30..=60).contains(&found), "{found}");
    assert_eq!(fleet(20, SharedBudget { loss: Ratio::ONE, ..shared() }), 0);
}

#[test]
fn a_fleet_without_its_store_has_its_budget_in_parts() {
    let down = Some(Stretch::ALWAYS);
    let away = Away::Local { nodes: 20 };
    // 300 tokens over 20 nodes are 15 each, which pay for three retries.
    assert_eq!(fleet(20, SharedBudget { down, away, ..shared() }), 60);
    assert_eq!(fleet(20, SharedBudget { down, ..shared() }), 0, "told to refuse");
    assert_eq!(fleet(20, SharedBudget { down, away: Away::Local { nodes: 100 }, ..shared() }), 0);
}

#[test]
fn a_store_that_comes_back_is_used_again() {
    let down = Some(Stretch { from: Instant::ORIGIN, until: at(10_000) });
    let found = fleet(20, SharedBudget { down, ..shared() });
    assert!((40..=60).contains(&found), "{found}");
}
