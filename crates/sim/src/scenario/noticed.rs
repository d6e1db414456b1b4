//! The synchrony of failures at which jitter begins to matter.

use stagger_core::{ConfigError, Instant, Span};

use super::{Peak, Scenario, ScenarioCase, StormOptions, entries};
use crate::law::{Law, Schedule};
use crate::plan::{ArrivalProcess, Backend, CallerLayer, Fault, MeasurementPlan, RunPlan, Trouble};

/// 1000 clients notice one failure at normally distributed times around 0.5 s; the backend is up
/// at 0.7 s. Then two that are nearly in step by nature: cron, and one reset of all that hung.
///
/// The peak counts calls served, from the first 50 ms on.
pub(super) fn scenario(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let schedule = options.schedule(Schedule::default());
    let laws =
        [Law::NoRetry, Law::Fixed, Law::None, Law::Equal, Law::Full, Law::DecorrelatedClamped];
    let compared = options.callers(&laws, &schedule)?;
    let callers = options.callers.unwrap_or(1_000);
    let up_at = Instant::ORIGIN + options.up_at.unwrap_or(UP_AT);
    let spread = |sigma: Span| ScenarioCase {
        outages: vec![(Instant::ORIGIN, up_at)],
        entries: entries(&compared, |caller| noticed(callers, sigma, up_at, caller)),
        ..ScenarioCase::new(format!("sigma {sigma}"), sigma.as_secs_f64() * 1e3)
    };
    let mut cases: Vec<ScenarioCase> = SIGMAS.map(spread).into();
    if options.up_at.is_none() {
        cases.push(ScenarioCase {
            outages: vec![(Instant::ORIGIN, Instant::ORIGIN + CRON_OUTAGE)],
            entries: entries(&compared, |caller| cron(callers, caller)),
            ..ScenarioCase::new("cron".to_owned(), f64::NAN)
        });
        cases.push(ScenarioCase {
            outages: vec![(HANG.0, HANG.1)],
            entries: entries(&compared, reset),
            ..ScenarioCase::new("one reset".to_owned(), f64::NAN)
        });
    }
    Ok(Scenario {
        lesson: LESSON.to_owned(),
        runs: 100,
        varied: Some("sigma [ms]".to_owned()),
        peak: Peak::Served,
        parameters: schedule.parameters(),
        cases,
        ..Scenario::default()
    })
}

/// The spreads of the reference table.
const SIGMAS: [Span; 4] =
    [Span::from_millis(1), Span::from_millis(10), Span::from_millis(50), Span::from_millis(200)];
const SERVICE: Span = Span::from_millis(5);
const NOTICED_AT: Span = Span::from_millis(500);
const UP_AT: Span = Span::from_millis(700);
const CRON_OUTAGE: Span = Span::from_millis(200);
/// From when on attempts hang, when they are all reset, and when the backend is up.
const HANG: (Instant, Instant, Instant) = (
    Instant::from_nanos(2_000_000_000),
    Instant::from_nanos(3_000_000_000),
    Instant::from_nanos(3_200_000_000),
);

fn noticed(callers: u32, sigma: Span, up_at: Instant, caller: &CallerLayer) -> RunPlan {
    let at = Instant::ORIGIN + NOTICED_AT;
    RunPlan {
        backend: Backend::UNLIMITED.serving_in(SERVICE),
        faults: vec![Fault::new(Trouble::Refuse, Instant::ORIGIN, up_at)],
        watch: MeasurementPlan { edge: up_at, ..MeasurementPlan::default() },
        ..RunPlan::new(ArrivalProcess::Noticed { callers, at, sigma, over: up_at }, caller.clone())
    }
}

fn cron(callers: u32, caller: &CallerLayer) -> RunPlan {
    let up_at = Instant::ORIGIN + CRON_OUTAGE;
    let over = Span::from_millis(10);
    RunPlan {
        backend: Backend::UNLIMITED.serving_in(SERVICE),
        faults: vec![Fault::new(Trouble::Refuse, Instant::ORIGIN, up_at)],
        watch: MeasurementPlan { edge: up_at, ..MeasurementPlan::default() },
        ..RunPlan::new(
            ArrivalProcess::Spread { callers, from: Instant::ORIGIN, over },
            caller.clone(),
        )
    }
}

/// 500 callers a second; what arrives in one second hangs and is reset at its end.
fn reset(caller: &CallerLayer) -> RunPlan {
    let (from, reset, up) = HANG;
    let arrivals = ArrivalProcess::poisson(500, Instant::ORIGIN + Span::from_secs(10));
    RunPlan {
        backend: Backend::UNLIMITED.serving_in(SERVICE),
        faults: vec![
            Fault::new(Trouble::Hang, from, reset),
            Fault::new(Trouble::Refuse, reset, up),
        ],
        watch: MeasurementPlan { edge: up, ..MeasurementPlan::default() },
        ..RunPlan::new(arrivals, caller.clone())
    }
}

const LESSON: &str = "\
Without jitter callers come back as close together as they failed. Jitter lowers the peak only \
where failures lie well within one base delay of each other: one reset, one shared timeout, cron, \
a restart. Failures that are spread over more than that are spread already.";
