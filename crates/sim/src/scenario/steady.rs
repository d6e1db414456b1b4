//! Steady traffic in a Poisson process, and an outage in the middle.

use stagger_core::{ConfigError, Instant, Span};

use super::{Peak, Scenario, ScenarioCase, StormOptions, entries};
use crate::law::{Law, Schedule};
use crate::plan::{ArrivalProcess, Backend, CallerLayer, Fault, MeasurementPlan, RunPlan, Trouble};

/// 500 callers a second for a minute; 503 from 2 s on for the time that the cases vary.
///
/// The peak counts calls served; its bound is callers a second times attempts.
pub(super) fn scenario(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let schedule = options.schedule(Schedule::default());
    let compared = options.callers(&Law::ALL, &schedule)?;
    let outages = options.up_at.map_or_else(|| OUTAGES.to_vec(), |at| vec![at]);
    let case = |outage: Span| ScenarioCase {
        outages: vec![(DOWN_FROM, DOWN_FROM + outage)],
        entries: entries(&compared, |caller| plan(outage, caller)),
        ..ScenarioCase::new(format!("outage {outage}"), outage.as_secs_f64())
    };
    Ok(Scenario {
        lesson: LESSON.to_owned(),
        runs: 20,
        varied: Some("outage [s]".to_owned()),
        peak: Peak::Served,
        parameters: schedule.parameters(),
        cases: outages.into_iter().map(case).collect(),
        ..Scenario::default()
    })
}

/// The outages of the reference table.
const OUTAGES: [Span; 4] =
    [Span::from_millis(200), Span::from_secs(1), Span::from_secs(5), Span::from_secs(30)];
const DOWN_FROM: Instant = Instant::from_nanos(2_000_000_000);
/// The time that the backend works on a call. Callers who came within it before the end of the outage
/// failed, so the first bucket after the outage is a tenth short: the reference has that too.
const SERVICE: Span = Span::from_millis(5);

fn plan(outage: Span, caller: &CallerLayer) -> RunPlan {
    let up = DOWN_FROM + outage;
    RunPlan {
        backend: Backend::UNLIMITED.serving_in(SERVICE),
        faults: vec![Fault::new(Trouble::Refuse, DOWN_FROM, up)],
        watch: MeasurementPlan { edge: Instant::ORIGIN, ..MeasurementPlan::default() },
        ..RunPlan::new(
            ArrivalProcess::poisson(500, Instant::ORIGIN + Span::from_secs(60)),
            caller.clone(),
        )
    }
}

const LESSON: &str = "\
The no-retry row is the noise of the arrivals alone: read the others against it. Callers that were \
never in step do not come back in step, so the laws differ little. In a long outage the load is \
500 callers a second times the attempts of each, whatever the law, and that is what the backend \
meets when it is up again.";
