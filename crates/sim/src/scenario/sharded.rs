//! One bad shard of many, and whom a breaker takes for broken.

use stagger_core::breaker::BreakerPlan;
use stagger_core::{ConfigError, Instant, Ratio, Span};

use super::{Peak, Scenario, ScenarioCase, ScenarioEntry, StormOptions};
use crate::law::{Law, Schedule};
use crate::plan::{ArrivalProcess, Backend, CallerLayer, Fault, Fleet, RunPlan, Scope, Trouble};

/// Sixteen shards, one of which refuses everything all the time. A call goes to the shard of its
/// key, so one in sixteen fails whatever happens, and 93.75 % are the most that can succeed: what
/// is missing from that are calls to healthy shards.
pub(super) fn scenario(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let schedule = options.schedule(SCHEDULE);
    let load = options.callers.unwrap_or(LOAD);
    let mut entries = Vec::new();
    for (name, caller) in options.callers(&[Law::Full], &schedule)? {
        entries.push(ScenarioEntry::new(name.as_str(), plan(load, caller.clone(), Scope::Host)));
        if name == Law::NoRetry.name() {
            continue;
        }
        for (how, ratio, scope) in BREAKERS {
            let breaker = BreakerPlan::builder().ratio(ratio).build()?;
            let policy = caller.policy.to_builder().breaker(breaker).build()?;
            let broken = CallerLayer { policy, ..caller.clone() };
            entries.push(ScenarioEntry::new(format!("{name}, {how}"), plan(load, broken, scope)));
        }
    }
    let case = ScenarioCase {
        outages: vec![(Instant::ORIGIN, Instant::ORIGIN + LENGTH)],
        entries,
        ..ScenarioCase::new("one bad shard of 16".to_owned(), 16.0)
    };
    let mut parameters = schedule.parameters();
    parameters.push(("calls a second".to_owned(), load.to_string()));
    parameters.push(("processes".to_owned(), PROCESSES.to_string()));
    Ok(Scenario {
        lesson: LESSON.to_owned(),
        runs: 10,
        peak: Peak::Attempts,
        parameters,
        cases: vec![case],
        ..Scenario::default()
    })
}

const SCHEDULE: Schedule =
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

fn plan(load: u32, caller: CallerLayer, scope: Scope) -> RunPlan {
    let bad = Fault::new(Trouble::Refuse, Instant::ORIGIN, Instant::FAR).in_shard(BAD);
    RunPlan {
        fleet: Fleet { processes: PROCESSES, scope, ..Fleet::default() },
        backend: Backend { shards: SHARDS, ..Backend::UNLIMITED },
        faults: vec![bad],
        ..RunPlan::new(ArrivalProcess::poisson(load, Instant::ORIGIN + LENGTH), caller)
    }
}

const LESSON: &str = "\
A breaker for the whole host has the choice between two mistakes: at 50 % it does not see one bad \
shard of 16, and at 10 % it refuses nearly every call to the healthy ones. One for each shard \
spares the bad shard and refuses nobody else.";
