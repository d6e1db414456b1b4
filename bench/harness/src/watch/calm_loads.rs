//! Calm loads of six families: much that looks like a storm and is none.

use stagger_core::{ConfigError, Instant, Ratio, Span};
use stagger_sim::{
    ArrivalProcess, Backend, CallerLayer, Fault, Law, RunPlan, Schedule, Service, Trouble,
};

use super::world::{Half, WatchedWorld, WorldChance, at};

/// A family: its name and the way to its worlds of so many seconds.
type Family = (&'static str, fn(&str, WorldChance, u32) -> Result<WatchedWorld, ConfigError>);

const FAMILIES: [Family; 6] = [
    ("diurnal wave", wave),
    ("flash crowd without retries", crowd),
    ("deploy bursts", deploys),
    ("cron herd", cron),
    ("steady errors", errors),
    ("slow clients", slow),
];

/// Families of storms have the numbers up to here.
const NUMBERS: u32 = 100;

/// The variants of every family in one half, of so many minutes each.
pub(super) fn calm_loads(
    half: Half,
    variants: u32,
    minutes: u32,
) -> Result<Vec<WatchedWorld>, ConfigError> {
    let all = (NUMBERS..).zip(FAMILIES).flat_map(|(number, (name, make))| {
        let chance = move |variant| WorldChance::new(number, half, variant);
        (0..variants).map(move |variant| make(name, chance(variant), 60 * minutes))
    });
    all.collect()
}

/// Callers that make up to three attempts with full jitter.
fn caller() -> Result<CallerLayer, ConfigError> {
    let base = Span::from_millis(100);
    Law::Full.caller(&Schedule { base, cap: Span::from_secs(1), attempts: 3 })
}

/// A server without limits where this share of attempts fails, in millionths.
fn plan(arrivals: Vec<ArrivalProcess>, caller: CallerLayer, failing: u32) -> RunPlan {
    let usual = Trouble::Failing(Ratio::from_ppm(failing));
    RunPlan {
        arrivals,
        backend: Backend::UNLIMITED.serving_in(Span::from_millis(20)),
        faults: vec![Fault::new(usual, Instant::ORIGIN, Instant::FAR)],
        ..RunPlan::new(ArrivalProcess::Together { callers: 0 }, caller)
    }
}

/// A Poisson process whose rate changes from second to second.
fn by_second(chance: WorldChance, length: u32, rate: impl Fn(u32) -> u32) -> ArrivalProcess {
    let second = |second: u32| {
        let seed = chance.seed() ^ (u64::from(second) << 40);
        let times = ArrivalProcess::poisson(rate(second), at(1)).times(seed, 0);
        times.map(move |time| at(second) + (time - Instant::ORIGIN))
    };
    ArrivalProcess::Recorded((0..length).flat_map(second).collect())
}

/// So many calls in one instant, every so many seconds.
fn every(seconds: u32, length: u32, calls: u32) -> ArrivalProcess {
    let instants = (1..).map(|round| round * seconds).take_while(|&second| second < length);
    let herds = instants.flat_map(|second| std::iter::repeat_n(at(second), calls as usize));
    ArrivalProcess::Recorded(herds.collect())
}

/// The load of a day in the time of the run: it grows to eight times its least, and falls.
fn wave(name: &str, chance: WorldChance, length: u32) -> Result<WatchedWorld, ConfigError> {
    let least = chance.whole(0, 6, 15);
    let rate = |second: u32| least + 14 * least * second.min(length - second) / length;
    let arrivals = vec![by_second(chance, length, rate)];
    let plan = plan(arrivals, caller()?, chance.whole(1, 0, 10_000));
    Ok(chance.world(name, plan, 4 * least))
}

/// A crowd of several times the usual load, every ten minutes for one or two: the server refuses what it cannot
/// serve, and nobody tries again.
fn crowd(name: &str, chance: WorldChance, length: u32) -> Result<WatchedWorld, ConfigError> {
    let (usual, times) = (chance.whole(0, 15, 40), chance.whole(1, 4, 12));
    let lasts = chance.whole(2, 60, 120);
    let rate = |second: u32| if second % 600 >= 600 - lasts { usual * times } else { usual };
    let caller = Law::NoRetry.caller(&Schedule::default())?;
    let plan = RunPlan {
        // Workers of 20 ms for three times the usual load.
        backend: Backend::of_workers(
            (3 * usual).div_ceil(50),
            Span::from_millis(20),
            Some(chance.whole(3, 10, 100)),
        ),
        ..plan(vec![by_second(chance, length, rate)], caller, 0)
    };
    Ok(chance.world(name, plan, usual))
}

/// A deployment every ten minutes: half a second of refusals, which callers ride out, and a burst of
/// connections that come back.
fn deploys(name: &str, chance: WorldChance, length: u32) -> Result<WatchedWorld, ConfigError> {
    let rate = chance.whole(0, 20, 80);
    let gone = Span::from_millis(u64::from(chance.whole(1, 200, 500)));
    let mut plan = plan(
        vec![
            ArrivalProcess::poisson(rate, at(length)),
            every(600, length, chance.whole(2, 100, 600)),
        ],
        caller()?,
        chance.whole(3, 0, 5_000),
    );
    let deployed = (1..).map(|round| round * 600).take_while(|&second| second < length);
    let refusals = deployed.map(|second| {
        let from = at(second - 1) + (Span::from_secs(1) - gone);
        Fault::new(Trouble::Refuse, from, at(second))
    });
    plan.faults.splice(0..0, refusals);
    Ok(chance.world(name, plan, rate))
}

/// Jobs that all begin with the minute.
fn cron(name: &str, chance: WorldChance, length: u32) -> Result<WatchedWorld, ConfigError> {
    let (rate, jobs) = (chance.whole(0, 10, 40), chance.whole(1, 200, 2_000));
    let arrivals = vec![ArrivalProcess::poisson(rate, at(length)), every(60, length, jobs)];
    let plan = plan(arrivals, caller()?, chance.whole(2, 0, 10_000));
    Ok(chance.world(name, plan, rate + jobs / 60))
}

/// Two percent of all attempts fail, and are made again.
fn errors(name: &str, chance: WorldChance, length: u32) -> Result<WatchedWorld, ConfigError> {
    let rate = chance.whole(0, 20, 100);
    let arrivals = vec![ArrivalProcess::poisson(rate, at(length))];
    Ok(chance.world(name, plan(arrivals, caller()?, 20_000), rate))
}

/// Some clients take ten seconds and more for an answer, and some of them give up.
fn slow(name: &str, chance: WorldChance, length: u32) -> Result<WatchedWorld, ConfigError> {
    let rate = chance.whole(0, 20, 60);
    let service = Service::Tail {
        usual: Span::from_millis(30),
        slow: Span::from_secs(u64::from(chance.whole(1, 8, 20))),
        share: Ratio::from_percent(chance.whole(2, 2, 10)),
    };
    let caller = caller()?.with_timeout(Span::from_secs(15));
    let arrivals = vec![ArrivalProcess::poisson(rate, at(length))];
    let backend = Backend { service, ..Backend::UNLIMITED };
    Ok(chance.world(name, RunPlan { backend, ..plan(arrivals, caller, 2_000) }, rate))
}
