//! Many clients that are all told the same time to come back.

use stagger_core::{ConfigError, HintRule, Instant, LongHint, Ratio, Span};

use super::{Peak, Scenario, ScenarioCase, ScenarioEntry, StormOptions};
use crate::law::{Law, Schedule};
use crate::plan::{ArrivalProcess, Backend, CallerLayer, Fault, MeasurementPlan, RunPlan, Trouble};

/// All clients hear a 503 with a Retry-After, which is true: the backend is up when it ends, and
/// serves 1000 a second.
pub(super) fn scenario(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let schedule = options.schedule(Schedule::default());
    let callers = options.callers.unwrap_or(CLIENTS);
    let hint = options.up_at.unwrap_or(HINT);
    let mut rows = Vec::new();
    for (name, caller) in options.callers(&[Law::Full], &schedule)? {
        if name == Law::NoRetry.name() {
            rows.push((name, caller));
            continue;
        }
        for (how, rule) in rules(hint)? {
            let policy = caller.policy.to_builder().hints(rule).build()?;
            rows.push((format!("{name}, {how}"), CallerLayer { policy, ..caller.clone() }));
        }
    }
    let up = Instant::ORIGIN + hint;
    let case = ScenarioCase {
        outages: vec![(Instant::ORIGIN, up)],
        capacity: Some(1_000.0),
        entries: rows
            .iter()
            .map(|(name, caller)| ScenarioEntry::new(name, plan(callers, caller, hint)))
            .collect(),
        ..ScenarioCase::new(format!("told {hint}"), hint.as_secs_f64())
    };
    let mut parameters = schedule.parameters();
    parameters.push(("clients".to_owned(), callers.to_string()));
    Ok(Scenario {
        lesson: LESSON.to_owned(),
        runs: 20,
        peak: Peak::Attempts,
        parameters,
        cases: vec![case],
        ..Scenario::default()
    })
}

const CLIENTS: u32 = 10_000;
const HINT: Span = Span::from_secs(60);

/// The ways to take a hint.
fn rules(hint: Span) -> Result<[(&'static str, HintRule); 3], ConfigError> {
    let half = Ratio::from_percent(50);
    Ok([
        ("hint ignored", HintRule::new(Span::ZERO, Ratio::ZERO, LongHint::Shorten)?),
        ("hint without spread", HintRule::new(hint, Ratio::ZERO, LongHint::Stop)?),
        ("hint with spread", HintRule::new(hint, half, LongHint::Stop)?),
    ])
}

fn plan(callers: u32, caller: &CallerLayer, hint: Span) -> RunPlan {
    let up = Instant::ORIGIN + hint;
    RunPlan {
        backend: Backend::of_workers(10, Span::from_millis(10), Some(100)),
        faults: vec![Fault::new(Trouble::RefuseFor(hint), Instant::ORIGIN, up)],
        watch: MeasurementPlan::around(up),
        ..RunPlan::new(ArrivalProcess::Together { callers }, caller.clone())
    }
}

const LESSON: &str = "\
A hint without spread is an appointment: all come back in the same instant, a hundred of them fit \
in, and what follows is the storm that the hint was to prevent. Spread upward by half, the same \
clients need two attempts each and nobody is refused. A client that ignores the hint makes \
all its attempts before the backend is up.";
