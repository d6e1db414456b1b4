//! Services that call services, each of which retries.

use stagger_core::{ConfigError, Instant, Ratio, Span};

use super::{Peak, Scenario, ScenarioCase, ScenarioEntry, StormOptions};
use crate::law::{Law, Schedule};
use crate::plan::{ArrivalProcess, CallerLayer, Fault, RunPlan, Trouble};

/// Three services in a row before a backend that is dead, or fails one attempt in five.
///
/// A service inside another one's attempt makes one attempt when the guard is on, as the executors
/// have it unless they are told otherwise.
pub(super) fn scenario(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let schedule = options.schedule(SCHEDULE);
    let calls = options.callers.unwrap_or(CALLS);
    let compared = options.callers(&[Law::Full], &schedule)?;
    let rows = compared.iter().map(|(name, caller)| layers(name, caller));
    let rows: Vec<(String, Vec<CallerLayer>)> =
        rows.collect::<Result<Vec<_>, ConfigError>>()?.into_iter().flatten().collect();
    let case = |(label, share): (&str, Ratio)| ScenarioCase {
        outages: vec![(Instant::ORIGIN, Instant::FAR)],
        entries: rows
            .iter()
            .map(|(name, callers)| ScenarioEntry::new(name, plan(calls, callers, share)))
            .collect(),
        ..ScenarioCase::new(label.to_owned(), share.as_f64() * 100.0)
    };
    Ok(Scenario {
        lesson: LESSON.to_owned(),
        runs: 20,
        varied: Some("failing [%]".to_owned()),
        peak: Peak::Attempts,
        parameters: schedule.parameters(),
        cases: [("dead", Ratio::ONE), ("20 % fail", Ratio::from_percent(20))].map(case).into(),
        ..Scenario::default()
    })
}

/// Three attempts: the default of most clients.
const SCHEDULE: Schedule =
    Schedule { base: Span::from_millis(100), cap: Span::from_secs(1), attempts: 3 };
/// Calls from outside, one every 5 ms.
const CALLS: u32 = 2_000;
const SPACING: Span = Span::from_millis(5);
const SERVICES: usize = 3;

/// The three ways to place retries; one way to make none.
fn layers(
    name: &str,
    caller: &CallerLayer,
) -> Result<Vec<(String, Vec<CallerLayer>)>, ConfigError> {
    let single =
        CallerLayer { policy: caller.policy.to_builder().max_attempts(1).build()?, foreign: None };
    if name == Law::NoRetry.name() {
        return Ok(vec![(name.to_owned(), vec![single; SERVICES])]);
    }
    let mut outermost = vec![single.clone(); SERVICES];
    outermost[0] = caller.clone();
    let mut innermost = vec![single; SERVICES];
    innermost[SERVICES - 1] = caller.clone();
    Ok(vec![
        (format!("{name}, every layer"), vec![caller.clone(); SERVICES]),
        (format!("{name}, outermost (guard)"), outermost),
        (format!("{name}, innermost"), innermost),
    ])
}

fn plan(calls: u32, callers: &[CallerLayer], failing: Ratio) -> RunPlan {
    let arrivals = ArrivalProcess::Even { callers: calls, spacing: SPACING };
    RunPlan {
        callers: callers.to_vec(),
        faults: vec![Fault::new(Trouble::Failing(failing), Instant::ORIGIN, Instant::FAR)],
        ..RunPlan::new(arrivals, callers[0].clone())
    }
}

const LESSON: &str = "\
Attempts multiply: three layers of three make 27 attempts of one call just when the backend is \
dead, and buy 0.8 % more success when it fails one in five. With the guard a call inside another's \
attempt makes one attempt, and three are all there are. Where the one layer that retries stands \
makes no difference to the backend.";
