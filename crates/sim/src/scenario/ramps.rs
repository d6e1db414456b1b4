//! Work that waits for a service to be back, and is let through over a ramp.

use stagger_core::breaker::BreakerPlan;
use stagger_core::{ConfigError, Instant, Policy, Ratio, Span};

use super::{Scenario, ScenarioCase, ScenarioEntry, StormOptions};
use crate::law::{Law, Schedule};
use crate::plan::{
    ArrivalProcess, Backend, CallerLayer, ColdStart, Fault, Fleet, Full, MeasurementPlan, Ramp,
    RunPlan, Trouble, Workers,
};

/// Deliveries that waited while the endpoint was down may go from the origin on. The endpoint serves
/// 1000 a second and refuses what its queue of 100 has no room for.
///
/// Ramp and policy are the dispatcher's: from 10 to 100 a second in ten seconds, doubling every ten
/// seconds; a refused delivery comes back after up to 5 s, 25 s, 125 s and so on.
pub(super) fn backlog(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let deliveries = options.callers.unwrap_or(DELIVERIES);
    let together = ArrivalProcess::Together { callers: deliveries };
    let ramp = |most| ArrivalProcess::Ramped(Ramp { callers: deliveries, most, ..RAMP });
    let webhook = changed(Policy::webhook(), options)?;
    let no_retry = Law::NoRetry.caller(&Schedule::default())?;
    let row = |name: &str, arrivals: &ArrivalProcess, caller: CallerLayer| {
        ScenarioEntry::new(name, backlog_plan(arrivals.clone(), caller))
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
    let case = ScenarioCase::new(format!("{deliveries} waiting"), f64::from(deliveries), entries)
        .capacity(1_000.0);
    Ok(Scenario::new(BACKLOG_LESSON, 3, Vec::new(), vec![case]).with("deliveries", deliveries))
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

fn backlog_plan(arrivals: ArrivalProcess, caller: CallerLayer) -> RunPlan {
    RunPlan {
        backend: Backend::of_workers(10, Span::from_millis(10), Some(100)),
        ..RunPlan::new(arrivals, caller)
    }
}

const BACKLOG_LESSON: &str = "\
Let loose at once, 300 000 deliveries meet an endpoint that serves a few hundred of them and \
refuses the rest, which the schedule then sends back for hours. A ramp delays that and does not \
prevent it: it doubles until it passes what the endpoint serves. With a cap on the rate nothing is \
refused, every delivery takes one attempt, and the backlog is gone forty times as soon. The \
dispatcher has a breaker besides, and begins its ramp anew whenever that closes. Deliveries of this \
model leave by the clock alone, so a breaker would show something else and is left out.";

/// All clients lose their service at the origin and want it back. It is up after five seconds, and
/// its work takes ten times as long at first and evenly less so for half a minute: 100 calls a
/// second grow to 1000. Clients give an attempt up after a second, and its work is done all the
/// same.
pub(super) fn restart(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let schedule = options.schedule(RESTART_SCHEDULE);
    let callers = options.callers.unwrap_or(CLIENTS);
    let up_at = options.up_at.unwrap_or(UP_AT);
    let mut entries = Vec::new();
    for (name, caller) in options.callers(&LAWS, &schedule)? {
        let caller = caller.with_timeout(Span::from_secs(1));
        entries
            .push(ScenarioEntry::new(name.as_str(), restart_plan(callers, caller.clone(), up_at)));
        if [Law::None.name(), Law::Full.name()].contains(&name.as_str()) {
            let ramped = CallerLayer { policy: ramped(&caller)?, ..caller };
            entries.push(ScenarioEntry::new(
                format!("{name}, ramp"),
                restart_plan(callers, ramped, up_at),
            ));
        }
    }
    let case = ScenarioCase::new(format!("{callers} clients"), f64::from(callers), entries)
        .outage((Instant::ORIGIN, Instant::ORIGIN + up_at))
        .capacity(1_000.0);
    Ok(Scenario::new(RESTART_LESSON, 20, schedule.parameters(), vec![case])
        .with("clients", callers)
        .with("processes", PROCESSES))
}

/// Attempts enough to serve every call in the end: time and work are compared.
const RESTART_SCHEDULE: Schedule =
    Schedule { base: Span::from_millis(100), cap: Span::from_secs(10), attempts: 60 };
const LAWS: [Law; 4] = [Law::Fixed, Law::None, Law::Equal, Law::Full];
const CLIENTS: u32 = 10_000;
const PROCESSES: u32 = 100;
const UP_AT: Span = Span::from_secs(5);

/// A breaker whose end is a ramp, and callers who wait for it.
fn ramped(caller: &CallerLayer) -> Result<Policy, ConfigError> {
    let breaker =
        BreakerPlan::builder().ramp(Ratio::from_percent(10), Span::from_secs(30)).build()?;
    caller.policy.to_builder().breaker(breaker).wait_for_breaker(true).build()
}

fn restart_plan(callers: u32, caller: CallerLayer, up_at: Span) -> RunPlan {
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

const RESTART_LESSON: &str = "\
Without jitter the clients come back in step, a few hundred are served each time, and it takes \
minutes. Jitter is fastest, at the price of 11 to 13 attempts a client, most of them refused. A \
breaker that closes over a ramp needs twice the time and a tenth of the attempts, with jitter or \
without.";
