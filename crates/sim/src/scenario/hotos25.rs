//! The length of a queue: bounds around capacity times timeout.

use stagger_core::{ConfigError, Instant, Ratio, Span};

use super::metastable::{asking, with_workers};
use super::{Peak, Play, Scenario, ScenarioCase, ScenarioEntry, StormOptions};
use crate::law::{Law, Schedule};
use crate::plan::{
    ArrivalProcess, Backend, CallerLayer, Deposit, Fault, FirstTriesRule, Fleet, Full, LedgerModel,
    MeasurementPlan, Paying, Recovery, RunPlan, Service, Trouble,
};

/// A server with exponential service and a bounded queue that drops in silence; callers send again
/// at once when they have waited long enough, and nothing is ever cancelled.
///
/// Source: Isaacs et al., "Analyzing Metastable Failures" (HotOS 2025).
pub(super) fn scenario(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let attempts = |attempts| Schedule { base: Span::ZERO, cap: Span::ZERO, attempts };
    let schedule = options.schedule(attempts(6));
    let tenth = Deposit { paying: Paying::Calls, amount: Ratio::from_percent(10), bucket: 10 };
    let compared: Vec<(&str, CallerLayer, LedgerModel)> = vec![
        ("no-retry", Law::NoRetry.caller(&schedule)?, LedgerModel::Engine),
        ("retries", Law::Fixed.caller(&schedule)?, LedgerModel::Engine),
        ("1 retry", Law::Fixed.caller(&Schedule { attempts: 2, ..schedule })?, LedgerModel::Engine),
        ("10 % budget", asking(Law::Fixed, &schedule)?, LedgerModel::Deposit(tenth)),
    ];
    let case = |bound: u32| {
        let entry = |(name, caller, ledger): &(&str, CallerLayer, LedgerModel)| ScenarioEntry {
            name: (*name).to_owned(),
            play: Play::Run(Box::new(plan(bound, caller, *ledger))),
        };
        ScenarioCase {
            entries: compared.iter().map(entry).collect(),
            outages: vec![STALL],
            capacity: Some(10.0),
            ..ScenarioCase::new(format!("queue {bound}"), f64::from(bound))
        }
    };
    Ok(Scenario {
        lesson: LESSON.to_owned(),
        runs: 10,
        varied: Some("queue".to_owned()),
        peak: Peak::Attempts,
        parameters: schedule.parameters(),
        cases: BOUNDS.map(case).into(),
        ..Scenario::default()
    })
}

const BOUNDS: [u32; 9] = [35, 40, 45, 50, 55, 60, 75, 100, 150];

/// One worker of 100 ms, half busy: a queue of 50 is what it serves within the timeout.
const SERVICE: Span = Span::from_millis(100);
const GAP: Span = Span::from_millis(200);
const TIMEOUT: Span = Span::from_secs(5);
/// Nothing is served meanwhile, which fills any of these queues with attempts of callers who have
/// gone.
const STALL: (Instant, Instant) =
    (Instant::from_nanos(30_000_000_000), Instant::from_nanos(50_000_000_000));
/// The time for which callers come after that; a run that has not recovered in two thirds of it never does.
const AFTERWARDS: Span = Span::from_secs(1_500);

/// Five buckets of a second: five callers come in each, so all of their first attempts must succeed.
fn recovery() -> Recovery {
    Recovery::FirstTries(FirstTriesRule {
        bucket: Span::from_secs(1),
        row: 5,
        share: Ratio::from_percent(99),
        within: Span::from_secs(1_000),
    })
}

fn plan(bound: u32, caller: &CallerLayer, ledger: LedgerModel) -> RunPlan {
    let (from, until) = STALL;
    let backend = Backend {
        service: Service::Exponential(SERVICE),
        ..Backend::of_workers(1, Span::ZERO, Some(bound))
    };
    let plan = RunPlan {
        backend,
        faults: vec![Fault::new(Trouble::Stall, from, until)],
        fleet: Fleet { ledger, ..Fleet::default() },
        watch: MeasurementPlan { edge: until, recovery: recovery(), ..MeasurementPlan::default() },
        ..RunPlan::new(
            ArrivalProcess::Poisson { gap: GAP, until: until + AFTERWARDS },
            caller.clone().with_timeout(TIMEOUT),
        )
    };
    with_workers(plan, |workers| workers.full = Full::Drop)
}

const LESSON: &str = "\
A queue that is longer than what is served within one timeout can fill with attempts that nobody \
waits for, and then every answer comes too late. Below that bound a system recovers from any \
trouble; a little above it, by luck; well above it, never. A single retry still recovers where five \
do not, and a budget of 10 % recovers under every bound.";
