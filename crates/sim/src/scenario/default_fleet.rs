//! Whether a fleet of many processes with the default budget recovers.

use stagger_core::budget::{BudgetPlan, FloorRate, WindowPlan};
use stagger_core::{ConfigError, Instant, Rate, Ratio, Span};

use super::fleet::{self, LOAD, PROCESSES};
use super::variants::{self, Variant};
use super::{Scenario, StormOptions};
use crate::law::Schedule;
use crate::plan::{ArrivalProcess, CallerLayer, Fleet, LedgerModel, RunPlan};

/// A thousand processes make 700 calls a second, and nothing is served for five seconds. What a
/// budget grants besides its share is granted a thousand times.
pub(super) fn scenario(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let schedule = options.schedule(SCHEDULE);
    let processes = options.callers.unwrap_or(PROCESSES);
    let variants = budgets()?.map(|(name, budget)| Variant {
        name,
        budget,
        processes,
        ledger: LedgerModel::Engine,
    });
    let entries = variants::entries(options, &schedule, processes, &variants, plan)?;
    Ok(Scenario { lesson: LESSON.to_owned(), ..fleet::stalled(&schedule, processes, entries) })
}

/// Three attempts, as in the default policy.
const SCHEDULE: Schedule = Schedule { attempts: 3, ..fleet::SCHEDULE };

fn budgets() -> Result<[(&'static str, BudgetPlan); 4], ConfigError> {
    let tenth = WindowPlan::new(Ratio::from_percent(10))?;
    let floor = |rate| tenth.with_floor(FloorRate::Add(rate)).into();
    Ok([
        ("no budget", BudgetPlan::Unlimited),
        ("floor 1/s", floor(Rate::per_second(1))),
        ("default", BudgetPlan::default()),
        ("no floor", floor(Rate::ZERO)),
    ])
}

/// The same stall, watched for long enough that the time to recover is a small part.
fn plan(caller: CallerLayer, fleet: Fleet) -> RunPlan {
    let arrivals = ArrivalProcess::poisson(LOAD, Instant::ORIGIN + LENGTH);
    RunPlan { arrivals: vec![arrivals], ..fleet::plan(caller, fleet) }
}

/// Ten minutes.
const LENGTH: Span = Span::from_secs(600);

const LESSON: &str = "\
What a budget grants besides its share, each process grants. With a floor of one retry a second, \
1000 processes have 1000 retries a second for a server of 1000 calls a second, which never \
recovers. The default floor of one in 20 s adds 50 a second, so that 700 calls, their tenth and the \
floors stay below what is served. Each process then spends the two retries that it has in hand, \
which is why the default recovers later than no retries at all. The condition is that 1.1 times the \
calls plus 0.05 times the processes stay below the capacity: 10 000 processes need floor = 0, or one \
budget that all of them share. Without a floor a process that makes less than a call a second never \
retries.";
