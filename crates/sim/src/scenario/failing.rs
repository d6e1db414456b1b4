//! A backend that fails a share of all attempts: what retries gain, and what they cost.

use stagger_core::{ConfigError, Instant, Ratio, Span};

use super::metastable::asking;
use super::{Peak, Play, Scenario, ScenarioCase, ScenarioEntry, StormOptions};
use crate::law::{Law, Schedule};
use crate::plan::{
    ArrivalProcess, CallerLayer, Deposit, Fault, FirstCalls, Fleet, Hop, LedgerModel,
    MeasurementPlan, Paying, RunPlan, Trouble,
};

/// Poisson clients, exponential hops of 10 ms, and a backend that fails each attempt with a
/// probability that the cases vary, for 100 s.
///
/// Source: Brooker, "Fixing retries with token buckets and circuit breakers" (2022).
pub(super) fn scenario(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let schedule = options.schedule(Schedule { base: Span::ZERO, cap: Span::ZERO, attempts: 4 });
    let retrying = Law::Fixed.caller(&schedule)?;
    let asking = asking(Law::Fixed, &schedule)?;
    let few = Crowd { processes: 100, rate: 1_000 };
    let many = Crowd { processes: 1_000, rate: 100 };
    let bucket = |paying| LedgerModel::Deposit(Deposit { paying, amount: TENTH, bucket: 5 });
    let compared: Vec<(&str, Crowd, CallerLayer, LedgerModel)> = vec![
        ("no-retry", few, Law::NoRetry.caller(&schedule)?, LedgerModel::Engine),
        ("3 retries", few, retrying, LedgerModel::Engine),
        ("bucket by calls", few, asking.clone(), bucket(Paying::Calls)),
        ("bucket by successes", few, asking.clone(), bucket(Paying::Successes)),
        ("breaker for life", few, asking.clone(), LedgerModel::Lifetime(TENTH)),
        ("1000 clients, bucket", many, asking.clone(), bucket(Paying::Successes)),
        ("1000 clients, breaker", many, asking, LedgerModel::Lifetime(TENTH)),
    ];
    let case = |percent: u32| {
        let entry = |(name, crowd, caller, ledger): &(&str, Crowd, CallerLayer, LedgerModel)| {
            ScenarioEntry {
                name: (*name).to_owned(),
                play: Play::Run(Box::new(crowd.plan(percent, caller, *ledger))),
            }
        };
        ScenarioCase {
            entries: compared.iter().map(entry).collect(),
            ..ScenarioCase::new(format!("{percent} % fail"), f64::from(percent))
        }
    };
    Ok(Scenario {
        lesson: LESSON.to_owned(),
        runs: 10,
        varied: Some("failing [%]".to_owned()),
        peak: Peak::Attempts,
        parameters: schedule.parameters(),
        cases: FAILING.map(case).into(),
        ..Scenario::default()
    })
}

const FAILING: [u32; 5] = [5, 10, 20, 50, 100];
const TENTH: Ratio = Ratio::from_percent(10);
const LENGTH: Span = Span::from_secs(100);
/// As in the source, all clients make their first call at the origin. That burst and its retries, which
/// wait for nothing, are over by then: it is no figure of the traffic that is compared.
const PEAK_FROM: Instant = Instant::from_nanos(1_000_000_000);
const HOP: Span = Span::from_millis(10);

/// Clients, and calls of all of them a second.
#[derive(Clone, Copy, Debug)]
struct Crowd {
    processes: u32,
    rate: u32,
}

impl Crowd {
    fn arrivals(self) -> ArrivalProcess {
        let gap = Span::from_secs(u64::from(self.processes)).as_nanos() / u64::from(self.rate);
        let (clients, gap) = (self.processes, Span::from_nanos(gap));
        let (first, until) = (FirstCalls::AtOrigin, Instant::ORIGIN + LENGTH);
        ArrivalProcess::Clients { clients, gap, first, until }
    }

    fn plan(self, percent: u32, caller: &CallerLayer, ledger: LedgerModel) -> RunPlan {
        let failing = Trouble::Failing(Ratio::from_percent(percent));
        RunPlan {
            hop: Hop::Exponential(HOP),
            faults: vec![Fault::new(failing, Instant::ORIGIN, Instant::FAR)],
            fleet: Fleet { processes: self.processes, ledger, ..Fleet::default() },
            watch: MeasurementPlan { peak_from: Some(PEAK_FROM), ..MeasurementPlan::default() },
            ..RunPlan::new(self.arrivals(), caller.clone())
        }
    }
}

const LESSON: &str = "\
Retries turn a few failures into none and many failures into several times the load. A bucket that \
holds little against the calls of the fleet bounds the load at 1.1 times whatever happens; one that \
is paid by successes pays nothing when nothing succeeds. With many clients that call seldom the \
bucket of each is never empty, and the bound is gone. A breaker over the whole life of a process \
gives up helping as soon as more than its share fails.";
