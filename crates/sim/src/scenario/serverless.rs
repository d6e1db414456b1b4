//! Processes that live for one call, each with a budget that has seen nothing.

use stagger_core::budget::{BudgetPlan, TokenPlan};
use stagger_core::{ConfigError, Instant, Ratio};

use super::fleet::{LOAD, SCHEDULE, STALL, plan, shared};
use super::variants::{self, Variant};
use super::{Peak, Scenario, ScenarioCase, StormOptions};
use crate::plan::{CallerLayer, Fault, Fleet, LedgerModel, RunPlan, Trouble};

/// The stall of the fleet, and a backend that fails one attempt in twenty and is well otherwise;
/// with a process for every call, beside twenty that stay.
pub(super) fn scenario(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let schedule = options.schedule(SCHEDULE);
    let variants = variants()?;
    let case = |label: &str, value, outages, plan: fn(CallerLayer, Fleet) -> RunPlan| {
        let entries = variants::entries(options, &schedule, SHORT_LIVED, &variants, plan)?;
        let case = ScenarioCase::new(label.to_owned(), value);
        Ok::<_, ConfigError>(ScenarioCase { outages, capacity: Some(1_000.0), entries, ..case })
    };
    let mut parameters = schedule.parameters();
    parameters.push(("calls a second".to_owned(), LOAD.to_string()));
    Ok(Scenario {
        lesson: LESSON.to_owned(),
        runs: 5,
        varied: Some("trouble".to_owned()),
        peak: Peak::Attempts,
        parameters,
        cases: vec![
            case("stall of 5 s", 0.0, vec![STALL], plan)?,
            case("5 % fail", 1.0, Vec::new(), failing)?,
        ],
        ..Scenario::default()
    })
}

/// More processes than calls in 90 s of 700 a second: none has a second call.
const SHORT_LIVED: u32 = 70_000;

/// The budgets, each in a process for every call or in twenty processes that stay.
fn variants() -> Result<[Variant; 7], ConfigError> {
    let bucket = TokenPlan::aws_2_0();
    let empty = bucket.with_initial(0)?.into();
    let (bucket, tenth) = (bucket.into(), BudgetPlan::default());
    let one_a_call = LedgerModel::Shared(shared(tenth, SHORT_LIVED));
    let all = [
        ("no budget", SHORT_LIVED, BudgetPlan::Unlimited, LedgerModel::Engine),
        ("bucket, 20 that stay", 20, bucket, LedgerModel::Engine),
        ("bucket, one a call", SHORT_LIVED, bucket, LedgerModel::Engine),
        ("empty bucket, one a call", SHORT_LIVED, empty, LedgerModel::Engine),
        ("10 %, 20 that stay", 20, tenth, LedgerModel::Engine),
        ("10 %, one a call", SHORT_LIVED, tenth, LedgerModel::Engine),
        ("10 % shared, one a call", SHORT_LIVED, tenth, one_a_call),
    ];
    Ok(all.map(|(name, processes, budget, ledger)| Variant { name, budget, processes, ledger }))
}

/// The same plan, in which one attempt in twenty fails all the time.
fn failing(caller: CallerLayer, fleet: Fleet) -> RunPlan {
    let one_in_twenty = Trouble::Failing(Ratio::from_percent(5));
    let faults = vec![Fault::new(one_in_twenty, Instant::ORIGIN, Instant::FAR)];
    RunPlan { faults, ..plan(caller, fleet) }
}

const LESSON: &str = "\
A budget remembers, and a process that lives for one call remembers nothing: a full bucket grants \
every retry, an empty one none, whatever the others see. A shared budget bounds the storm, but \
permits are leased before anybody knows who will need one, so few of the retries that would help \
get theirs. What helps both times is a budget in something that stays: a proxy, a pool, a gateway.";
