//! Clients that are told when to come back: a herd, and the players of a live event.

use stagger_core::budget::IntervalPlan;
use stagger_core::{ConfigError, HintRule, Instant, LongHint, Policy, Ratio, Span};

use super::{Scenario, ScenarioCase, StormOptions, entries};
use crate::law::{Law, Schedule};
use crate::plan::{
    ArrivalProcess, Backend, CallerLayer, Fault, Fleet, MeasurementPlan, RunPlan, Stretch, Trouble,
};

/// All clients hear a 503 with a Retry-After, which is true: the backend is up when it ends, and
/// serves 1000 a second.
pub(super) fn told(options: &StormOptions) -> Result<Scenario, ConfigError> {
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
    let case = ScenarioCase::new(
        format!("told {hint}"),
        hint.as_secs_f64(),
        entries(&rows, |caller| told_plan(callers, caller, hint)),
    )
    .outage((Instant::ORIGIN, up))
    .capacity(1_000.0);
    Ok(Scenario::new(TOLD_LESSON, 20, schedule.parameters(), vec![case]).with("clients", callers))
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

fn told_plan(callers: u32, caller: &CallerLayer, hint: Span) -> RunPlan {
    let up = Instant::ORIGIN + hint;
    RunPlan {
        backend: Backend::of_workers(10, Span::from_millis(10), Some(100)),
        faults: vec![Fault::new(Trouble::RefuseFor(hint), Instant::ORIGIN, up)],
        watch: MeasurementPlan::around(up),
        ..RunPlan::new(ArrivalProcess::Together { callers }, caller.clone())
    }
}

const TOLD_LESSON: &str = "\
A hint without spread is an appointment: all come back in the same instant, a hundred of them fit \
in, and what follows is the storm that the hint was to prevent. Spread upward by half, the same \
clients need two attempts each and nobody is refused. A client that ignores the hint makes \
all its attempts before the backend is up.";

/// Every player asks for one segment, evenly spread over the length of a segment, because players
/// started at any time and are as far apart ever since. Who asks during the outage hears a 503 that
/// says "come back in a second". The origin serves every call after that second: what is measured is how
/// much more comes than usual.
///
/// That is the harder of the two models that fit into memory: the calls of those who wait carry a
/// hint and a grant of their own budget, so all of 25 million at once would not.
pub(super) fn viewers(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let callers = options.callers.unwrap_or(PLAYERS);
    let outage = options.up_at.unwrap_or(OUTAGE);
    let schedule = options.schedule(VIEWERS_SCHEDULE);
    let compared = players(options, &schedule)?;
    let up = DOWN_AT + outage;
    let case = ScenarioCase::new(
        format!("outage of {outage}"),
        outage.as_secs_f64(),
        entries(&compared, |caller| viewers_plan(callers, caller, up)),
    )
    .outage((DOWN_AT, up));
    Ok(Scenario::new(VIEWERS_LESSON, 1, schedule.parameters(), vec![case])
        .with("players", callers)
        .with("usual requests a second", callers / SEGMENT_SECS))
}

/// As many as watched a cricket match in 2019.
const PLAYERS: u32 = 25_000_000;
const OUTAGE: Span = Span::from_millis(100);
/// The target duration that Apple's authoring specification for HLS asks for.
const SEGMENT_SECS: u32 = 6;
const DOWN_AT: Instant = Instant::from_nanos(2_000_000_000);
/// The answer of the origin.
const COME_BACK_IN: Span = Span::from_secs(1);
/// A player has a segment or two in its buffer: time for one more attempt.
const VIEWERS_SCHEDULE: Schedule =
    Schedule { base: Span::from_secs(1), cap: Span::from_secs(2), attempts: 2 };

/// Never again, at once and often, and three steps to what a player should do.
fn players(
    options: &StormOptions,
    schedule: &Schedule,
) -> Result<Vec<(String, CallerLayer)>, ConfigError> {
    let naive = Schedule {
        base: Span::from_millis(100),
        cap: Span::from_millis(100),
        attempts: schedule.attempts.max(5),
    };
    let deaf = HintRule::new(Span::ZERO, Ratio::ZERO, LongHint::Shorten)?;
    let hints = HintRule::new(Span::from_secs(10), Ratio::from_percent(50), LongHint::Stop)?;
    let once = IntervalPlan::new(1, Span::from_secs(30))?;
    let player = Law::Full.policy(schedule)?.to_builder().hints(deaf);
    let named = |name: &str, policy: Policy| (name.to_owned(), CallerLayer::new(policy));
    let mut all = options.callers(&[], schedule)?;
    all.insert(1, named("naive", Law::Fixed.policy(&naive)?.to_builder().hints(deaf).build()?));
    all.insert(2, named("full", player.build()?));
    all.insert(3, named("full, hint, budget", player.hints(hints).budget(once).build()?));
    Ok(all)
}

fn viewers_plan(callers: u32, caller: &CallerLayer, up: Instant) -> RunPlan {
    let segment = u64::from(SEGMENT_SECS) * Span::from_secs(1).as_nanos();
    let spacing = Span::from_nanos(segment / u64::from(callers.max(1)));
    RunPlan {
        fleet: Fleet { processes: callers, ..Fleet::default() },
        faults: vec![Fault::new(Trouble::RefuseFor(COME_BACK_IN), DOWN_AT, up)],
        watch: MeasurementPlan {
            edge: up,
            retries_in: Stretch { from: up, until: Instant::FAR },
            ..MeasurementPlan::default()
        },
        ..RunPlan::new(ArrivalProcess::Even { callers, spacing }, caller.clone())
    }
}

const VIEWERS_LESSON: &str = "\
A tenth of a second of 503s is 417 000 players. A player that waits 100 ms and tries again doubles the load of \
the origin for as long as the outage was; full jitter over a second adds a tenth, but one in 20 of \
those players draws a delay so short that its only retry meets the outage again. Under a \
Retry-After of a second none does, and its spread of half a second adds a fifth. The budget of one \
retry in 30 s changes nothing here: it is for outages that last.";
