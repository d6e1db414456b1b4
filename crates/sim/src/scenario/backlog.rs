//! An endpoint is back, and its webhooks have been waiting.

use stagger_core::{ConfigError, Policy, Ratio, Span};

use super::{Peak, Scenario, ScenarioCase, ScenarioEntry, StormOptions};
use crate::law::{Law, Schedule};
use crate::plan::{ArrivalProcess, Backend, CallerLayer, Ramp, RunPlan};

/// Deliveries that waited while the endpoint was down may go from the origin on. The endpoint serves
/// 1000 a second and refuses what its queue of 100 has no room for.
///
/// Ramp and policy are the dispatcher's: from 10 to 100 a second in ten seconds, doubling every ten
/// seconds; a refused delivery comes back after up to 5 s, 25 s, 125 s and so on.
pub(super) fn scenario(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let deliveries = options.callers.unwrap_or(DELIVERIES);
    let together = ArrivalProcess::Together { callers: deliveries };
    let ramp = |most| ArrivalProcess::Ramped(Ramp { callers: deliveries, most, ..RAMP });
    let webhook = changed(Policy::webhook()?, options)?;
    let no_retry = Law::NoRetry.caller(&Schedule::default())?;
    let row = |name: &str, arrivals: &ArrivalProcess, caller: CallerLayer| {
        ScenarioEntry::new(name, plan(arrivals.clone(), caller))
    };
    let mut entries = vec![
        row(Law::NoRetry.name(), &together, no_retry),
        row("all at once", &together, CallerLayer::new(webhook)),
        row("ramp", &ramp(None), CallerLayer::new(webhook)),
        row("ramp to 800/s", &ramp(Some(CAP)), CallerLayer::new(webhook)),
    ];
    for (name, policy) in &options.policies {
        entries.push(row(&format!("{name}, all at once"), &together, CallerLayer::new(*policy)));
        entries.push(row(&format!("{name}, ramp"), &ramp(None), CallerLayer::new(*policy)));
    }
    let case = ScenarioCase {
        capacity: Some(1_000.0),
        entries,
        ..ScenarioCase::new(format!("{deliveries} waiting"), f64::from(deliveries))
    };
    Ok(Scenario {
        lesson: LESSON.to_owned(),
        runs: 3,
        peak: Peak::Attempts,
        parameters: vec![("deliveries".to_owned(), deliveries.to_string())],
        cases: vec![case],
        ..Scenario::default()
    })
}

const DELIVERIES: u32 = 300_000;
/// A cap on the endpoint's rate, a fifth below what it serves.
const CAP: u32 = 800;
/// The dispatcher's default.
const RAMP: Ramp = Ramp {
    callers: DELIVERIES,
    from: Ratio::from_percent(10),
    rate: 100,
    over: Span::from_secs(10),
    most: None,
};

fn changed(policy: Policy, options: &StormOptions) -> Result<Policy, ConfigError> {
    match options.attempts {
        Some(attempts) => policy.to_builder().max_attempts(attempts).build(),
        None => Ok(policy),
    }
}

fn plan(arrivals: ArrivalProcess, caller: CallerLayer) -> RunPlan {
    RunPlan {
        backend: Backend::of_workers(10, Span::from_millis(10), Some(100)),
        ..RunPlan::new(arrivals, caller)
    }
}

const LESSON: &str = "\
Let loose at once, 300 000 deliveries meet an endpoint that serves a few hundred of them and \
refuses the rest, which the schedule then sends back for hours. A ramp delays that and does not \
prevent it: it doubles until it passes what the endpoint serves. With a cap on the rate nothing is \
refused, every delivery takes one attempt, and the backlog is gone forty times as soon. The \
dispatcher has a breaker besides, and begins its ramp anew whenever that closes. Deliveries of this \
model leave by the clock alone, so a breaker would show something else and is left out.";
