//! The retries that a budget's ratio pays for.

use std::error::Error;
use std::time::Duration;

use stagger::budget::{FloorRate, WindowPlan};
use stagger::engine::Ledger;
use stagger::engine::budget::Charge;
use stagger::{Instant, LocalLedger, Policy, Rate, Ratio};
use tower::retry::budget::{Budget, TpsBudget};

use crate::fact;

pub(crate) fn facts() -> Result<(), Box<dyn Error>> {
    for percent in [30_u32, 40, 60] {
        let input = format!("budget of {percent} %, 1000 first attempts: retries granted");
        let tower = TpsBudget::new(Duration::from_secs(10), 0, percent as f32 / 100.0);
        (0..1000).for_each(|_| tower.deposit());
        let theirs = (0..2000).filter(|_| tower.withdraw()).count();
        fact(&input, "tower", theirs, ours(percent)?);
    }
    let tokens = tower_resilience_retry::RetryBudgetBuilder::new()
        .token_bucket()
        .tokens_per_second(0.0)
        .initial_tokens(0)
        .build()?;
    (0..100).for_each(|_| tokens.deposit());
    let theirs = (0..1000).filter(|_| tokens.try_withdraw()).count();
    let input = "no time passes, no tokens at the start, 100 first attempts: retries granted";
    let ledger = LocalLedger::new(&Policy::default());
    fact(input, "tower-resilience-retry", theirs, granted(&ledger, 100));
    Ok(())
}

fn ours(percent: u32) -> Result<usize, Box<dyn Error>> {
    let ratio = Ratio::try_from(f64::from(percent) / 100.0)?;
    let plan = WindowPlan::new(ratio)?.with_floor(FloorRate::Add(Rate::ZERO));
    Ok(granted(&LocalLedger::new(&Policy::builder().budget(plan).build()?), 1000))
}

fn granted(mut ledger: &LocalLedger, firsts: u32) -> usize {
    (0..firsts).for_each(|_| ledger.on_first(Instant::ORIGIN));
    (0..2000).filter(|_| ledger.ask(Instant::ORIGIN, Charge::Retry).is_some()).count()
}
