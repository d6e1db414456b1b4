//! A live event: millions of players, and an origin that is away for a tenth of a second.

use stagger_core::budget::IntervalPlan;
use stagger_core::{ConfigError, HintRule, Instant, LongHint, Policy, Ratio, Span};

use super::{Peak, Scenario, ScenarioCase, StormOptions, entries};
use crate::law::{Law, Schedule};
use crate::plan::{
    ArrivalProcess, CallerLayer, Fault, Fleet, MeasurementPlan, RunPlan, Stretch, Trouble,
};

/// Every player asks for one segment, evenly spread over the length of a segment, because players
/// started at any time and are as far apart ever since. Who asks during the outage hears a 503 that
/// says "come back in a second". The origin serves every call after that second: what is measured is how
/// much more comes than usual.
///
/// That is the harder of the two models that fit into memory: the calls of those who wait carry a
/// hint and a grant of their own budget, so all of 25 million at once would not.
pub(super) fn scenario(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let callers = options.callers.unwrap_or(PLAYERS);
    let outage = options.up_at.unwrap_or(OUTAGE);
    let schedule = options.schedule(SCHEDULE);
    let compared = players(options, &schedule)?;
    let up = DOWN_AT + outage;
    let case = ScenarioCase {
        outages: vec![(DOWN_AT, up)],
        entries: entries(&compared, |caller| plan(callers, caller, up)),
        ..ScenarioCase::new(format!("outage of {outage}"), outage.as_secs_f64())
    };
    let mut parameters = schedule.parameters();
    parameters.push(("players".to_owned(), callers.to_string()));
    parameters.push(("usual requests a second".to_owned(), (callers / SEGMENT_SECS).to_string()));
    Ok(Scenario {
        lesson: LESSON.to_owned(),
        runs: 1,
        peak: Peak::Attempts,
        parameters,
        cases: vec![case],
        ..Scenario::default()
    })
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
const SCHEDULE: Schedule =
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

fn plan(callers: u32, caller: &CallerLayer, up: Instant) -> RunPlan {
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

const LESSON: &str = "\
A tenth of a second of 503s is 417 000 players. A player that waits 100 ms and tries again doubles the load of \
the origin for as long as the outage was; full jitter over a second adds a tenth, but one in 20 of \
those players draws a delay so short that its only retry meets the outage again. Under a \
Retry-After of a second none does, and its spread of half a second adds a fifth. The budget of one \
retry in 30 s changes nothing here: it is for outages that last.";
