//! Services in a row that all retry, and one bad shard of many.

use stagger_core::breaker::BreakerPlan;
use stagger_core::{ConfigError, Instant, Ratio, Span};

use super::{Scenario, ScenarioCase, ScenarioEntry, StormOptions};
use crate::law::{Law, Schedule};
use crate::plan::{ArrivalProcess, Backend, CallerLayer, Fault, Fleet, RunPlan, Scope, Trouble};

/// Three services in a row before a backend that is dead, or fails one attempt in five.
///
/// A service inside another one's attempt makes one attempt when the guard is on, as the executors
/// have it unless they are told otherwise.
pub(super) fn layers(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let schedule = options.schedule(LAYERS_SCHEDULE);
    let calls = options.callers.unwrap_or(CALLS);
    let compared = options.callers(&[Law::Full], &schedule)?;
    let rows = compared.iter().map(|(name, caller)| placements(name, caller));
    let rows: Vec<(String, Vec<CallerLayer>)> =
        rows.collect::<Result<Vec<_>, ConfigError>>()?.into_iter().flatten().collect();
    let case = |(label, share): (&str, Ratio)| {
        let entry = |(name, callers): &(String, Vec<CallerLayer>)| {
            ScenarioEntry::new(name, layers_plan(calls, callers, share))
        };
        ScenarioCase::new(label, share.as_f64() * 100.0, rows.iter().map(entry).collect())
            .outage((Instant::ORIGIN, Instant::FAR))
    };
    Ok(Scenario::new(
        LAYERS_LESSON,
        20,
        schedule.parameters(),
        [("dead", Ratio::ONE), ("20 % fail", Ratio::from_percent(20))].map(case).into(),
    )
    .varying("failing [%]"))
}

/// Three attempts: the default of most clients.
const LAYERS_SCHEDULE: Schedule =
    Schedule { base: Span::from_millis(100), cap: Span::from_secs(1), attempts: 3 };
/// Calls from outside, one every 5 ms.
const CALLS: u32 = 2_000;
const SPACING: Span = Span::from_millis(5);
const SERVICES: usize = 3;

/// The three ways to place retries; one way to make none.
fn placements(
    name: &str,
    caller: &CallerLayer,
) -> Result<Vec<(String, Vec<CallerLayer>)>, ConfigError> {
    let single = CallerLayer::new(caller.policy.to_builder().max_attempts(1).build()?);
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

fn layers_plan(calls: u32, callers: &[CallerLayer], failing: Ratio) -> RunPlan {
    let arrivals = ArrivalProcess::Even { callers: calls, spacing: SPACING };
    RunPlan {
        callers: callers.to_vec(),
        faults: vec![Fault::new(Trouble::Failing(failing), Instant::ORIGIN, Instant::FAR)],
        ..RunPlan::new(arrivals, callers[0].clone())
    }
}

const LAYERS_LESSON: &str = "\
Attempts multiply: three layers of three make 27 attempts of one call just when the backend is \
dead, and buy 0.8 % more success when it fails one in five. With the guard a call inside another's \
attempt makes one attempt, and three are all there are. Where the one layer that retries stands \
makes no difference to the backend.";

/// Sixteen shards, one of which refuses everything all the time. A call goes to the shard of its
/// key, so one in sixteen fails whatever happens, and 93.75 % are the most that can succeed: what
/// is missing from that are calls to healthy shards.
pub(super) fn sharded(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let schedule = options.schedule(SHARDED_SCHEDULE);
    let load = options.callers.unwrap_or(LOAD);
    let mut entries = Vec::new();
    for (name, caller) in options.callers(&[Law::Full], &schedule)? {
        entries.push(ScenarioEntry::new(
            name.as_str(),
            sharded_plan(load, caller.clone(), Scope::Host),
        ));
        if name == Law::NoRetry.name() {
            continue;
        }
        for (how, ratio, scope) in BREAKERS {
            let breaker = BreakerPlan::builder().ratio(ratio).build()?;
            let policy = caller.policy.to_builder().breaker(breaker).build()?;
            let broken = CallerLayer { policy, ..caller.clone() };
            entries.push(ScenarioEntry::new(
                format!("{name}, {how}"),
                sharded_plan(load, broken, scope),
            ));
        }
    }
    let case = ScenarioCase::new("one bad shard of 16", 16.0, entries)
        .outage((Instant::ORIGIN, Instant::ORIGIN + LENGTH));
    Ok(Scenario::new(SHARDED_LESSON, 10, schedule.parameters(), vec![case])
        .with("calls a second", load)
        .with("processes", PROCESSES))
}

const SHARDED_SCHEDULE: Schedule =
    Schedule { base: Span::from_millis(100), cap: Span::from_secs(1), attempts: 3 };
const LOAD: u32 = 1_600;
const LENGTH: Span = Span::from_secs(60);
const PROCESSES: u32 = 10;
const SHARDS: u32 = 16;
const BAD: u32 = 3;
/// The default threshold, and one that sees a sixteenth.
const BREAKERS: [(&str, Ratio, Scope); 3] = [
    ("breaker per host, 50 %", Ratio::from_percent(50), Scope::Host),
    ("breaker per host, 10 %", Ratio::from_percent(10), Scope::Host),
    ("breaker per shard, 50 %", Ratio::from_percent(50), Scope::Shard),
];

fn sharded_plan(load: u32, caller: CallerLayer, scope: Scope) -> RunPlan {
    let bad = Fault::new(Trouble::Refuse, Instant::ORIGIN, Instant::FAR).in_shard(BAD);
    RunPlan {
        fleet: Fleet { processes: PROCESSES, scope, ..Fleet::default() },
        backend: Backend { shards: SHARDS, ..Backend::UNLIMITED },
        faults: vec![bad],
        ..RunPlan::new(ArrivalProcess::poisson(load, Instant::ORIGIN + LENGTH), caller)
    }
}

const SHARDED_LESSON: &str = "\
A breaker for the whole host has the choice between two mistakes: at 50 % it does not see one bad \
shard of 16, and at 10 % it refuses nearly every call to the healthy ones. One for each shard \
spares the bad shard and refuses nobody else.";
