//! A service that starts cold, and all its clients at the door.

use stagger_core::breaker::BreakerPlan;
use stagger_core::{ConfigError, Instant, Ratio, Span};

use super::{Peak, Scenario, ScenarioCase, ScenarioEntry, StormOptions};
use crate::law::{Law, Schedule};
use crate::plan::{
    ArrivalProcess, Backend, CallerLayer, ColdStart, Fault, Fleet, Full, MeasurementPlan, RunPlan,
    Trouble, Workers,
};

/// All clients lose their service at the origin and want it back. It is up after five seconds, and
/// its work takes ten times as long at first and evenly less so for half a minute: 100 calls a
/// second grow to 1000. Clients give an attempt up after a second, and its work is done all the
/// same.
pub(super) fn scenario(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let schedule = options.schedule(SCHEDULE);
    let callers = options.callers.unwrap_or(CLIENTS);
    let up_at = options.up_at.unwrap_or(UP_AT);
    let mut entries = Vec::new();
    for (name, caller) in options.callers(&LAWS, &schedule)? {
        let caller = caller.with_timeout(Span::from_secs(1));
        entries.push(ScenarioEntry::new(name.as_str(), plan(callers, caller.clone(), up_at)));
        if [Law::None.name(), Law::Full.name()].contains(&name.as_str()) {
            let ramped = CallerLayer { policy: ramped(&caller)?, ..caller };
            entries.push(ScenarioEntry::new(format!("{name}, ramp"), plan(callers, ramped, up_at)));
        }
    }
    let case = ScenarioCase {
        outages: vec![(Instant::ORIGIN, Instant::ORIGIN + up_at)],
        capacity: Some(1_000.0),
        entries,
        ..ScenarioCase::new(format!("{callers} clients"), f64::from(callers))
    };
    let mut parameters = schedule.parameters();
    parameters.push(("clients".to_owned(), callers.to_string()));
    parameters.push(("processes".to_owned(), PROCESSES.to_string()));
    Ok(Scenario {
        lesson: LESSON.to_owned(),
        runs: 20,
        peak: Peak::Attempts,
        parameters,
        cases: vec![case],
        ..Scenario::default()
    })
}

/// Attempts enough to serve every call in the end: time and work are compared.
const SCHEDULE: Schedule =
    Schedule { base: Span::from_millis(100), cap: Span::from_secs(10), attempts: 60 };
const LAWS: [Law; 4] = [Law::Fixed, Law::None, Law::Equal, Law::Full];
const CLIENTS: u32 = 10_000;
const PROCESSES: u32 = 100;
const UP_AT: Span = Span::from_secs(5);

/// A breaker whose end is a ramp, and callers who wait for it.
fn ramped(caller: &CallerLayer) -> Result<stagger_core::Policy, ConfigError> {
    let breaker =
        BreakerPlan::builder().ramp(Ratio::from_percent(10), Span::from_secs(30)).build()?;
    caller.policy.to_builder().breaker(breaker).wait_for_breaker(true).build()
}

fn plan(callers: u32, caller: CallerLayer, up_at: Span) -> RunPlan {
    let up = Instant::ORIGIN + up_at;
    RunPlan {
        fleet: Fleet { processes: PROCESSES, ..Fleet::default() },
        backend: Backend {
            workers: Some(Workers { full: Full::Refuse, ..Workers::new(10, Some(200)) }),
            cold_start: Some(ColdStart {
                factor: Ratio::from_percent(1_000),
                over: Span::from_secs(30),
            }),
            ..Backend::UNLIMITED.serving_in(Span::from_millis(10))
        },
        faults: vec![Fault::new(Trouble::Refuse, Instant::ORIGIN, up)],
        watch: MeasurementPlan { edge: up, ..MeasurementPlan::default() },
        ..RunPlan::new(ArrivalProcess::Together { callers }, caller)
    }
}

const LESSON: &str = "\
Without jitter the clients come back in step, a few hundred are served each time, and it takes \
minutes. Jitter is fastest, at the price of 11 to 13 attempts a client, most of them refused. A \
breaker that closes over a ramp needs twice the time and a tenth of the attempts, with jitter or \
without.";
