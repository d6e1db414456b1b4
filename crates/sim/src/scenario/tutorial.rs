//! A much-copied tutorial: callers one after the other, and a short outage in the middle.

use stagger_core::{ConfigError, Instant, Span};

use super::{Peak, Scenario, ScenarioCase, StormOptions, entries};
use crate::law::{Law, Schedule};
use crate::plan::{ArrivalProcess, Backend, CallerLayer, Fault, RunPlan, Trouble};

/// One caller every spacing; the backend answers 503 to what arrives from 2.0 s (included) until
/// 2.2 s (excluded) and otherwise serves in 5 ms.
///
/// The peak counts calls *served*, in buckets of 50 ms from the first arrival on.
pub(super) fn scenario(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let schedule = options.schedule(Schedule::default());
    let laws = [Law::NoRetry, Law::None, Law::Equal, Law::Full];
    let compared = options.callers(&laws, &schedule)?;
    let case = |(spacing, callers): (Span, u32)| ScenarioCase {
        outages: vec![OUTAGE],
        entries: entries(&compared, |caller| plan(spacing, callers, caller)),
        ..ScenarioCase::new(format!("one every {spacing}"), spacing.as_secs_f64() * 1e3)
    };
    let mut cases: Vec<ScenarioCase> =
        SPACINGS.map(|spacing| case((spacing, options.callers.unwrap_or(1_000)))).into();
    if options.callers.is_none() {
        let mut twice = case((SPACINGS[0], 2_000));
        twice.label += ", 2000 callers";
        cases.push(twice);
    }
    Ok(Scenario {
        lesson: LESSON.to_owned(),
        runs: 200,
        varied: Some("spacing [ms]".to_owned()),
        peak: Peak::Served,
        parameters: schedule.parameters(),
        cases,
        ..Scenario::default()
    })
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

fn plan(spacing: Span, callers: u32, caller: &CallerLayer) -> RunPlan {
    RunPlan {
        backend: Backend::UNLIMITED.serving_in(Span::from_millis(5)),
        faults: vec![Fault::new(Trouble::Refuse, OUTAGE.0, OUTAGE.1)],
        ..RunPlan::new(ArrivalProcess::Even { callers, spacing }, caller.clone())
    }
}

const LESSON: &str = "\
A popular tutorial prints 540 (no retry), 4380 (no jitter), 1820 (equal) and 720 (full) here. At \
exactly 2 ms its last caller is gone before the outage begins, so nobody fails at all; only a loop \
that sleeps too long meets the outage. 0.2 s of 500 callers a second are 100 failures, and 25 more \
callers come in 50 ms, so no law can ever serve more than 125 in a bucket: 2500 a second. Callers \
that fail one after the other are not in step: waiting without jitter only moves them, and jitter \
folds them together, so its peak is the higher.";
