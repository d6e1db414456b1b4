//! Retry storms of six families, each with its own parameters in every variant.

use stagger_core::{ConfigError, HintRule, LongHint, Ratio, Span};
use stagger_sim::{ArrivalProcess, Backend, CallerLayer, Fault, Law, RunPlan, Schedule, Trouble};

use super::world::{Half, WatchedWorld, WorldChance, at};

/// A family: its name and the way to its worlds.
type Family = (&'static str, fn(&str, WorldChance) -> Result<WatchedWorld, ConfigError>);

const FAMILIES: [Family; 6] = [
    ("metastable stall", stall),
    ("lockstep retries", lockstep),
    ("layers that multiply", layers),
    ("Retry-After herd", told),
    ("clients without jitter", unjittered),
    ("partial failure", partial),
];

/// The variants of every family in one half.
pub(super) fn storms(half: Half, variants: u32) -> Result<Vec<WatchedWorld>, ConfigError> {
    let all = (1..).zip(FAMILIES).flat_map(|(number, (name, make))| {
        (0..variants).map(move |variant| make(name, WorldChance::new(number, half, variant)))
    });
    all.collect()
}

/// The time for which callers come, in seconds.
const LENGTH: u32 = 120;

fn schedule(base: u32, cap: u64, attempts: u32) -> Schedule {
    let (base, cap) = (Span::from_millis(u64::from(base)), Span::from_secs(cap));
    Schedule { base, cap, attempts }
}

fn plan(rate: u32, caller: CallerLayer, trouble: Trouble, from: u32, lasts: u32) -> RunPlan {
    RunPlan {
        backend: Backend::UNLIMITED.serving_in(Span::from_millis(20)),
        faults: vec![Fault::new(trouble, at(from), at(from + lasts))],
        ..RunPlan::new(ArrivalProcess::poisson(rate, at(LENGTH)), caller)
    }
}

/// The server accepts and serves nothing for some seconds; retries keep its queue full afterwards.
fn stall(name: &str, chance: WorldChance) -> Result<WatchedWorld, ConfigError> {
    let rate = chance.whole(0, 250, 425);
    let law = [Law::Full, Law::None][(chance.variant() % 2) as usize];
    let timeout = Span::from_millis(u64::from(chance.whole(1, 400, 1_500)));
    let caller = law.caller(&schedule(100, 10, 4))?.with_timeout(timeout);
    let (from, lasts) = (chance.whole(2, 40, 80), chance.whole(3, 3, 10));
    let plan = RunPlan {
        backend: Backend::of_workers(5, Span::from_millis(10), None),
        ..plan(rate, caller, Trouble::Stall, from, lasts)
    };
    Ok(chance.world(name, plan, rate))
}

/// Many clients lose their connections in one instant, and come back at fixed delays.
fn lockstep(name: &str, chance: WorldChance) -> Result<WatchedWorld, ConfigError> {
    let (rate, herd) = (chance.whole(0, 40, 150), chance.whole(1, 500, 3_000));
    let law = [Law::Fixed, Law::None][(chance.variant() % 2) as usize];
    let caller = law.caller(&schedule(chance.whole(2, 200, 1_000), 10, 6))?;
    let from = chance.whole(3, 40, 80);
    let mut plan = plan(rate, caller, Trouble::Refuse, from, chance.whole(4, 4, 20));
    plan.arrivals.push(ArrivalProcess::Recorded(vec![at(from); herd as usize].into()));
    Ok(chance.world(name, plan, rate + herd / 10))
}

/// Two or three services in a row make three attempts each.
fn layers(name: &str, chance: WorldChance) -> Result<WatchedWorld, ConfigError> {
    let rate = chance.whole(0, 40, 150);
    let caller = Law::Full.caller(&schedule(chance.whole(1, 50, 200), 1, 3))?;
    let failing = Ratio::from_percent(chance.whole(2, 60, 100));
    let (from, lasts) = (chance.whole(3, 40, 80), chance.whole(4, 20, 60));
    let callers = vec![caller.clone(); chance.whole(5, 2, 3) as usize];
    let plan = RunPlan { callers, ..plan(rate, caller, Trouble::Failing(failing), from, lasts) };
    Ok(chance.world(name, plan, rate))
}

/// A herd is told to come back in some seconds, and does, in one instant.
fn told(name: &str, chance: WorldChance) -> Result<WatchedWorld, ConfigError> {
    let (rate, herd) = (chance.whole(0, 40, 100), chance.whole(1, 800, 3_000));
    let hint = Span::from_secs(u64::from(chance.whole(2, 5, 40)));
    let rule = HintRule::new(Span::from_secs(60), Ratio::ZERO, LongHint::Stop)?;
    let caller = Law::Full.caller(&schedule(100, 10, 5))?;
    let policy = caller.policy.to_builder().hints(rule).build()?;
    let caller = CallerLayer { policy, ..caller };
    let from = chance.whole(3, 40, 80);
    // The server is full again when they come back, and tells them once more.
    let lasts = u32::try_from(hint.as_secs_ceil()).unwrap_or(40) + 2;
    let mut plan = plan(rate, caller, Trouble::RefuseFor(hint), from, lasts);
    plan.arrivals.push(ArrivalProcess::Recorded(vec![at(from); herd as usize].into()));
    Ok(chance.world(name, plan, rate + herd / 10))
}

/// An outage of some seconds, and delays without jitter.
fn unjittered(name: &str, chance: WorldChance) -> Result<WatchedWorld, ConfigError> {
    let rate = chance.whole(0, 60, 300);
    let law = [Law::None, Law::Fixed][(chance.variant() % 2) as usize];
    let caller = law.caller(&schedule(chance.whole(1, 100, 500), 10, chance.whole(2, 4, 8)))?;
    let (from, lasts) = (chance.whole(3, 40, 80), chance.whole(4, 8, 30));
    Ok(chance.world(name, plan(rate, caller, Trouble::Refuse, from, lasts), rate))
}

/// Some of all attempts fail for a minute or two, and are made again.
fn partial(name: &str, chance: WorldChance) -> Result<WatchedWorld, ConfigError> {
    let rate = chance.whole(0, 60, 300);
    let caller =
        Law::Full.caller(&schedule(chance.whole(1, 100, 500), 10, chance.whole(2, 4, 8)))?;
    let failing = Trouble::Failing(Ratio::from_percent(chance.whole(3, 45, 75)));
    let (from, lasts) = (chance.whole(4, 40, 60), chance.whole(5, 60, 110));
    Ok(chance.world(name, plan(rate, caller, failing, from, lasts), rate))
}
