//! The worth of one process's budget to a fleet, and of a budget that all processes share.

use stagger_core::budget::{BudgetPlan, TokenPlan};
use stagger_core::{ConfigError, Instant, Ratio, Span};

use super::variants::{self, Variant};
use super::{Peak, Scenario, ScenarioCase, ScenarioEntry, StormOptions};
use crate::law::Schedule;
use crate::plan::{
    ArrivalProcess, Away, Backend, CallerLayer, Fault, Fleet, LedgerModel, MeasurementPlan,
    Recovery, RunPlan, SharedBudget, Stretch, Trouble,
};

/// A thousand processes make 700 calls a second; nothing is served for five seconds. Each has the
/// bucket of the AWS SDKs, or all share one such bucket.
pub(super) fn scenario(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let schedule = options.schedule(SCHEDULE);
    let processes = options.callers.unwrap_or(PROCESSES);
    let variants = variants(TokenPlan::aws_2_0().into(), processes);
    let entries = variants::entries(options, &schedule, processes, &variants, plan)?;
    Ok(Scenario { lesson: LESSON.to_owned(), ..stalled(&schedule, processes, entries) })
}

/// The stall of a fleet of so many processes, with these entries and no lesson.
pub(super) fn stalled(
    schedule: &Schedule,
    processes: u32,
    entries: Vec<ScenarioEntry>,
) -> Scenario {
    let case = ScenarioCase {
        outages: vec![STALL],
        capacity: Some(1_000.0),
        entries,
        ..ScenarioCase::new(format!("{processes} processes"), f64::from(processes))
    };
    let mut parameters = schedule.parameters();
    parameters.push(("processes".to_owned(), processes.to_string()));
    parameters.push(("calls a second".to_owned(), LOAD.to_string()));
    Scenario { runs: 5, peak: Peak::Attempts, parameters, cases: vec![case], ..Scenario::default() }
}

pub(super) const SCHEDULE: Schedule =
    Schedule { base: Span::from_millis(100), cap: Span::from_secs(10), attempts: 4 };
pub(super) const PROCESSES: u32 = 1_000;
pub(super) const LOAD: u32 = 700;
pub(super) const LENGTH: Span = Span::from_secs(90);
pub(super) const STALL: (Instant, Instant) =
    (Instant::from_nanos(10_000_000_000), Instant::from_nanos(15_000_000_000));

/// The places of the bucket, and the troubles of its store.
fn variants(bucket: BudgetPlan, processes: u32) -> [Variant; 6] {
    let shared = shared(bucket, processes);
    let lossy = SharedBudget { loss: Ratio::from_percent(20), ..shared };
    let down = Some(Stretch { from: STALL.0, until: STALL.1 + Span::from_secs(30) });
    let down = SharedBudget { down, ..shared };
    [
        ("no budget", BudgetPlan::Unlimited, LedgerModel::Engine),
        ("500 tokens a process", bucket, LedgerModel::Engine),
        ("500 tokens shared", bucket, LedgerModel::Shared(shared)),
        ("shared, 20 % of requests lost", bucket, LedgerModel::Shared(lossy)),
        ("shared, store down: own share", bucket, LedgerModel::Shared(down)),
        (
            "shared, store down: refuse",
            bucket,
            LedgerModel::Shared(SharedBudget { away: Away::Refuse, ..down }),
        ),
    ]
    .map(|(name, budget, ledger)| Variant { name, budget, processes, ledger })
}

/// One permit at a time: a lease that a thousand processes hold and do not use is a budget of its
/// own.
pub(super) const fn shared(budget: BudgetPlan, nodes: u32) -> SharedBudget {
    SharedBudget {
        budget,
        lease: 1,
        latency: Span::from_millis(1),
        loss: Ratio::ZERO,
        again: Span::from_millis(500),
        down: None,
        away: Away::Local { nodes },
    }
}

/// The stalled backend of the reference: ten workers of 10 ms, a queue without bound, callers who
/// give up after half a second and are served all the same.
pub(super) fn plan(caller: CallerLayer, fleet: Fleet) -> RunPlan {
    RunPlan {
        fleet,
        backend: Backend::of_workers(10, Span::from_millis(10), None),
        faults: vec![Fault::new(Trouble::Stall, STALL.0, STALL.1)],
        watch: MeasurementPlan {
            edge: STALL.1,
            recovery: Recovery::first_tries(),
            ..MeasurementPlan::default()
        },
        ..RunPlan::new(
            ArrivalProcess::poisson(LOAD, Instant::ORIGIN + LENGTH),
            caller.with_timeout(Span::from_millis(500)),
        )
    }
}

const LESSON: &str = "\
The bucket of one process protects a server from one process. A thousand of them hold enough \
retries for all that a stall makes fail, and the fleet never recovers, as if there were no budget. \
The same bucket shared lets it recover. A store that is away costs retries, not the recovery: a \
thousandth of 500 tokens is no retry at all, so falling back to the own share refuses here too.";
