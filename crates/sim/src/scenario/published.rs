//! Two simulations that many have read: the contention of 2015, and a much-copied tutorial.

use stagger_core::{ConfigError, Instant, Span};

use super::contention::Contention;
use super::{Play, Scenario, ScenarioCase, ScenarioEntry, StormOptions, entries};
use crate::law::{Law, Schedule};
use crate::plan::{ArrivalProcess, Backend, CallerLayer, Fault, RunPlan, Trouble};

/// N clients write to one row; time is until the last of them has, attempts are writes.
pub(super) fn contended(options: &StormOptions) -> Result<Scenario, ConfigError> {
    // Its code has 5 ms doubled before the first delay, and draws decorrelated delays from 5 ms.
    let first = options.schedule(Schedule {
        base: Span::from_millis(10),
        cap: Span::from_secs(2),
        attempts: u32::MAX,
    });
    let half = Schedule { base: Span::from_nanos(first.base.as_nanos() / 2), ..first };
    let at_once = Schedule { base: Span::ZERO, cap: Span::ZERO, ..first };
    let mut compared = vec![("no-backoff".to_owned(), Law::Fixed.caller(&at_once)?)];
    for (name, caller) in options.callers(&[Law::None, Law::Full, Law::Equal], &first)? {
        if name != Law::NoRetry.name() {
            compared.push((name, caller));
        }
    }
    let decorrelated = StormOptions { policies: Vec::new(), ..options.clone() };
    for (name, caller) in decorrelated.callers(&[Law::DecorrelatedClamped], &half)? {
        if name != Law::NoRetry.name() {
            compared.push((name, caller));
        }
    }
    let numbers = options.callers.map_or_else(|| CLIENTS.to_vec(), |clients| vec![clients]);
    Ok(Scenario::new(
        CONTENDED_LESSON,
        100,
        first.parameters(),
        numbers.into_iter().map(|clients| contended_case(clients, &compared)).collect(),
    )
    .varying("clients"))
}

/// The numbers of the reference table.
const CLIENTS: [u32; 6] = [10, 20, 50, 100, 150, 200];

fn contended_case(clients: u32, compared: &[(String, CallerLayer)]) -> ScenarioCase {
    let entry = |(name, caller): &(String, CallerLayer)| ScenarioEntry {
        name: name.clone(),
        play: Play::Contention(Box::new(Contention { clients, caller: caller.clone() })),
    };
    ScenarioCase::new(
        format!("{clients} clients"),
        f64::from(clients),
        compared.iter().map(entry).collect(),
    )
}

const CONTENDED_LESSON: &str = "\
Time grows with the number of clients and work with its square. Never to wait is always the \
fastest and always the most work, which surprises people. Full jitter halves the writes at 100 \
clients; decorrelated jitter is a little faster than full up to about 120 clients only, and writes \
more from about 20 on.";

/// One caller every spacing; the backend answers 503 to what arrives from 2.0 s (included) until
/// 2.2 s (excluded) and otherwise serves in 5 ms.
///
/// The peak counts calls *served*, in buckets of 50 ms from the first arrival on.
pub(super) fn tutorial(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let schedule = options.schedule(Schedule::default());
    let laws = [Law::NoRetry, Law::None, Law::Equal, Law::Full];
    let compared = options.callers(&laws, &schedule)?;
    let case = |(spacing, callers): (Span, u32)| {
        ScenarioCase::new(
            format!("one every {spacing}"),
            spacing.as_secs_f64() * 1e3,
            entries(&compared, |caller| tutorial_plan(spacing, callers, caller)),
        )
        .outage(OUTAGE)
    };
    let mut cases: Vec<ScenarioCase> =
        SPACINGS.map(|spacing| case((spacing, options.callers.unwrap_or(1_000)))).into();
    if options.callers.is_none() {
        let mut twice = case((SPACINGS[0], 2_000));
        twice.label += ", 2000 callers";
        cases.push(twice);
    }
    Ok(Scenario::new(TUTORIAL_LESSON, 200, schedule.parameters(), cases)
        .varying("spacing [ms]")
        .counting_served())
}

/// The spacings of the reference table.
const SPACINGS: [Span; 4] = [
    Span::from_micros(2_000),
    Span::from_micros(2_150),
    Span::from_micros(2_200),
    Span::from_micros(2_300),
];
const OUTAGE: (Instant, Instant) =
    (Instant::from_nanos(2_000_000_000), Instant::from_nanos(2_200_000_000));

fn tutorial_plan(spacing: Span, callers: u32, caller: &CallerLayer) -> RunPlan {
    RunPlan {
        backend: Backend::UNLIMITED.serving_in(Span::from_millis(5)),
        faults: vec![Fault::new(Trouble::Refuse, OUTAGE.0, OUTAGE.1)],
        ..RunPlan::new(ArrivalProcess::Even { callers, spacing }, caller.clone())
    }
}

const TUTORIAL_LESSON: &str = "\
A popular tutorial prints 540 (no retry), 4380 (no jitter), 1820 (equal) and 720 (full) here. At \
exactly 2 ms its last caller is gone before the outage begins, so nobody fails at all; only a loop \
that sleeps too long meets the outage. 0.2 s of 500 callers a second are 100 failures, and 25 more \
callers come in 50 ms, so no law can ever serve more than 125 in a bucket: 2500 a second. Callers \
that fail one after the other are not in step: waiting without jitter only moves them, and jitter \
folds them together, so its peak is the higher.";
