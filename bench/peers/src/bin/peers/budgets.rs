//! Budgets: a first attempt counted and a retry asked for, by several threads at once.

use std::error::Error;
use std::hint::black_box;
use std::num::NonZeroU32;
use std::sync::Mutex;

use google_cloud_gax::retry_throttler::{AdaptiveThrottler, RetryThrottler};
use stagger::budget::BudgetPlan;
use stagger::engine::Ledger;
use stagger::engine::budget::Charge;
use stagger::{Clock, LocalLedger, Policy, StdTime};
use tower::retry::budget::{Budget, TpsBudget};

use crate::calls::loops;
use crate::group::{Effort, Group, GroupRow};
use crate::reasons;

/// The number of threads that share one budget or breaker.
pub(crate) const THREADS: [u64; 4] = [1, 2, 4, 8];

// tidy: long because it is one table of the peers
pub(crate) fn rows(effort: Effort<'_>) -> Result<Vec<GroupRow>, Box<dyn Error>> {
    let mut rows = Vec::new();
    for threads in THREADS {
        let (ours, exact) =
            (stagger::Budget::new(BudgetPlan::default()), LocalLedger::new(&Policy::default()));
        let tower = TpsBudget::default();
        let tokens = tower_resilience_retry::RetryBudgetBuilder::new().token_bucket().build()?;
        let aimd = tower_resilience_retry::RetryBudgetBuilder::new().aimd().build()?;
        let gax = Mutex::new(AdaptiveThrottler::default());
        let quota = governor::Quota::per_second(NonZeroU32::MAX);
        let governor = governor::RateLimiter::direct(quota);
        let group = Group::new(format!("budget pair, {threads} threads"), loops!(|x| x))
            .threads(threads)
            .case(
                "stagger",
                "",
                loops!(|_x| {
                    ours.on_first();
                    ours.try_retry()
                }),
            )
            // As a call asks that has a deadline: the time is read once, to the nanosecond.
            .case(
                "stagger",
                "its ledger, by the exact clock",
                loops!(|_x| {
                    let (mut ledger, now) = (&exact, StdTime.now());
                    ledger.on_first(now);
                    ledger.ask(now, Charge::Retry)
                }),
            )
            .because(reasons::OURS)
            .case(
                "tower",
                "",
                loops!(|_x| {
                    tower.deposit();
                    tower.withdraw()
                }),
            )
            .case(
                "tower-resilience-retry",
                "token bucket",
                loops!(|_x| {
                    tokens.deposit();
                    tokens.try_withdraw()
                }),
            )
            .case(
                "tower-resilience-retry",
                "aimd",
                loops!(|_x| {
                    aimd.deposit();
                    aimd.try_withdraw()
                }),
            )
            .because(reasons::NO_TIME)
            .case(
                "google-cloud-gax",
                "",
                loops!(|_x| {
                    gax.lock().map(|mut throttler| throttler.on_success()).ok();
                    gax.lock().map(|throttler| throttler.throttle_retry_attempt()).ok()
                }),
            )
            .because(reasons::NO_WINDOW)
            .case("governor", "one check", loops!(|_x| governor.check().is_ok()))
            .because(reasons::ONE_CHECK);
        rows.extend(group.rows(effort));
    }
    Ok(rows)
}
