//! A second copy of slow calls: what it wins, and what it costs.

use stagger_core::budget::{BudgetPlan, WindowPlan};
use stagger_core::hedge::HedgePlan;
use stagger_core::{ConfigError, Instant, Ratio, Span};

use super::{Peak, Scenario, ScenarioCase, ScenarioEntry, StormOptions};
use crate::law::{Law, Schedule};
use crate::plan::{
    ArrivalProcess, Backend, CallerLayer, Fault, Hop, MeasurementPlan, RunPlan, Service, Trouble,
    Workers,
};

/// Two attempts in a hundred take thirty times as long as the others; and the same while everything
/// is slow for five seconds, so that every call is one for a second copy.
pub(super) fn scenario(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let schedule = options.schedule(SCHEDULE);
    let load = options.callers.unwrap_or(LOAD);
    let mut rows = Vec::new();
    for (name, caller) in options.callers(&[Law::Full], &schedule)? {
        let caller = caller.with_timeout(TIMEOUT);
        if name == Law::NoRetry.name() || options.policies.iter().any(|(own, _)| *own == name) {
            rows.push((name, caller));
            continue;
        }
        rows.push(("no hedge".to_owned(), caller.clone()));
        for (how, percent, budget) in hedges()? {
            let hedge = HedgePlan::quantile(Ratio::from_percent(percent), FALLBACK, 2)?;
            let policy = caller.policy.to_builder().hedge(hedge).budget(budget).build()?;
            rows.push((how.to_owned(), CallerLayer { policy, ..caller.clone() }));
        }
    }
    let case = |(label, slow): (&str, u32)| {
        let plan = |(name, caller): &(String, CallerLayer)| {
            ScenarioEntry::new(name.as_str(), plan(load, caller.clone(), slow))
        };
        ScenarioCase {
            outages: if slow > 1 { vec![SLOW] } else { Vec::new() },
            capacity: Some(CAPACITY),
            entries: rows.iter().map(plan).collect(),
            ..ScenarioCase::new(label.to_owned(), f64::from(slow))
        }
    };
    let mut parameters = schedule.parameters();
    parameters.push(("calls a second".to_owned(), load.to_string()));
    Ok(Scenario {
        lesson: LESSON.to_owned(),
        runs: 4,
        varied: Some("times as slow".to_owned()),
        peak: Peak::Attempts,
        parameters,
        cases: [("a slow tail", 1), ("all slow for 5 s", 3)].map(case).into(),
        ..Scenario::default()
    })
}

const SCHEDULE: Schedule =
    Schedule { base: Span::from_millis(100), cap: Span::from_secs(1), attempts: 3 };
const LOAD: u32 = 2_000;
const LENGTH: Span = Span::from_secs(30);
const TIMEOUT: Span = Span::from_secs(1);
/// The delay of a copy before latencies are known.
const FALLBACK: Span = Span::from_millis(100);
const SLOW: (Instant, Instant) =
    (Instant::from_nanos(10_000_000_000), Instant::from_nanos(15_000_000_000));
/// 60 workers at 15.8 ms on average.
const CAPACITY: f64 = 3_797.0;

/// The quantile after which a copy goes out, and the budget that pays for it.
fn hedges() -> Result<[(&'static str, u32, BudgetPlan); 4], ConfigError> {
    let tenth: BudgetPlan = WindowPlan::new(Ratio::from_percent(10))?.into();
    Ok([
        ("hedge after p95", 95, BudgetPlan::Unlimited),
        ("hedge after p50", 50, BudgetPlan::Unlimited),
        ("hedge after p95, budget", 95, tenth),
        ("hedge after p50, budget", 50, tenth),
    ])
}

fn plan(load: u32, caller: CallerLayer, slow: u32) -> RunPlan {
    let tail = Service::Tail {
        usual: Span::from_millis(10),
        slow: Span::from_millis(300),
        share: Ratio::from_percent(2),
    };
    let times = Trouble::Slow(Ratio::from_percent(100 * slow));
    RunPlan {
        hop: Hop::Exponential(Span::from_millis(1)),
        backend: Backend {
            service: tail,
            workers: Some(Workers::new(60, None)),
            ..Backend::UNLIMITED
        },
        faults: vec![Fault::new(times, SLOW.0, SLOW.1)],
        watch: MeasurementPlan { edge: SLOW.1, ..MeasurementPlan::default() },
        ..RunPlan::new(ArrivalProcess::poisson(load, Instant::ORIGIN + LENGTH), caller)
    }
}

const LESSON: &str = "\
With a slow tail a copy after the p95 takes the p99 from the tail for 4 % more attempts. After \
the median it costs ten times that, and may tip the backend. When everything is slow, every call \
is worth a copy, and retries and copies together keep the queue full for ever; the budget is what \
ends it. A copy that loses stays paid for, so a budget of 10 % is 1.10 attempts a call at most; sent \
after the median, it is spent on calls that were about to end, and the tail stays as it was.";
