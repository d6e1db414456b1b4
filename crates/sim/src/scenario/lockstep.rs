//! All callers fail in one instant: the storm that jitter was invented for.

use stagger_core::{ConfigError, Instant, Span};

use super::{Peak, Scenario, ScenarioCase, StormOptions, entries};
use crate::law::{Law, Schedule};
use crate::plan::{ArrivalProcess, CallerLayer, Fault, MeasurementPlan, RunPlan, Trouble};

/// All callers make their first attempt at the origin and fail; the backend serves all of them, at
/// once, from some time on.
///
/// The peak counts attempts that arrive from then on.
pub(super) fn scenario(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let schedule = options.schedule(Schedule::default());
    let callers = options.callers.unwrap_or(1_000);
    let up_at = options.up_at.map_or_else(|| UP_AT.to_vec(), |at| vec![at]);
    let compared = options.callers(&Law::ALL, &schedule)?;
    let case = |up_at: Span| ScenarioCase {
        outages: vec![(Instant::ORIGIN, Instant::ORIGIN + up_at)],
        entries: entries(&compared, |caller| plan(callers, caller, up_at)),
        ..ScenarioCase::new(format!("up at {up_at}"), up_at.as_secs_f64())
    };
    Ok(Scenario {
        lesson: LESSON.to_owned(),
        runs: 200,
        varied: Some("up at [s]".to_owned()),
        peak: Peak::Attempts,
        parameters: schedule.parameters(),
        cases: up_at.into_iter().map(case).collect(),
        ..Scenario::default()
    })
}

/// The times of the reference table.
const UP_AT: [Span; 3] = [Span::from_millis(200), Span::from_secs(1), Span::from_secs(3)];

fn plan(callers: u32, caller: &CallerLayer, up_at: Span) -> RunPlan {
    let up = Instant::ORIGIN + up_at;
    RunPlan {
        faults: vec![Fault::new(Trouble::Refuse, Instant::ORIGIN, up)],
        watch: MeasurementPlan::around(up),
        ..RunPlan::new(ArrivalProcess::Together { callers }, caller.clone())
    }
}

const LESSON: &str = "\
Callers that failed together and wait without jitter come back together. Jitter spreads them. \
Full and equal jitter also shorten the waiting in all, so in a longer outage they run out of \
attempts first: give them one more.";
