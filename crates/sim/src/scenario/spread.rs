//! Failures that are spread over time: the synchrony at which jitter begins to matter, and steady traffic.

use stagger_core::{ConfigError, Instant, Span};

use super::{Scenario, ScenarioCase, StormOptions, entries};
use crate::law::{Law, Schedule};
use crate::plan::{ArrivalProcess, Backend, CallerLayer, Fault, MeasurementPlan, RunPlan, Trouble};
use crate::probe::BUCKET;

/// 1000 clients notice one failure at normally distributed times around 0.5 s; the backend is up
/// at 0.7 s. Then two that are nearly in step by nature: cron, and one reset of all that hung.
///
/// The peak counts calls served, from the first 50 ms on.
pub(super) fn noticed(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let schedule = options.schedule(Schedule::default());
    let laws =
        [Law::NoRetry, Law::Fixed, Law::None, Law::Equal, Law::Full, Law::DecorrelatedClamped];
    let compared = options.callers(&laws, &schedule)?;
    let callers = options.callers.unwrap_or(1_000);
    let up_at = Instant::ORIGIN + options.up_at.unwrap_or(UP_AT);
    let spread = |sigma: Span| {
        ScenarioCase::new(
            format!("sigma {sigma}"),
            sigma.as_secs_f64() * 1e3,
            entries(&compared, |caller| normal(callers, sigma, up_at, caller)),
        )
        .outage((Instant::ORIGIN, up_at))
    };
    let mut cases: Vec<ScenarioCase> = SIGMAS.map(spread).into();
    if options.up_at.is_none() {
        cases.push(
            ScenarioCase::new("cron", f64::NAN, entries(&compared, |caller| cron(callers, caller)))
                .outage((Instant::ORIGIN, Instant::ORIGIN + CRON_OUTAGE)),
        );
        cases.push(
            ScenarioCase::new("one reset", f64::NAN, entries(&compared, reset))
                .outage((HANG.0, HANG.1)),
        );
    }
    Ok(Scenario::new(NOTICED_LESSON, 100, schedule.parameters(), cases)
        .varying("sigma [ms]")
        .counting_served())
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

fn normal(callers: u32, sigma: Span, up_at: Instant, caller: &CallerLayer) -> RunPlan {
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

/// 500 callers a second; what arrives in one second hangs and is reset at its end. The peak is that of the whole run, as in
/// the reference table: without retries it is chance alone, and so depends on the length.
fn reset(caller: &CallerLayer) -> RunPlan {
    let (from, reset, up) = HANG;
    let arrivals = ArrivalProcess::poisson(500, Instant::ORIGIN + Span::from_secs(10));
    RunPlan {
        backend: Backend::UNLIMITED.serving_in(SERVICE),
        faults: vec![
            Fault::new(Trouble::Hang, from, reset),
            Fault::new(Trouble::Refuse, reset, up),
        ],
        watch: MeasurementPlan {
            edge: up,
            peak_from: Some(Instant::ORIGIN + BUCKET),
            ..MeasurementPlan::default()
        },
        ..RunPlan::new(arrivals, caller.clone())
    }
}

const NOTICED_LESSON: &str = "\
Without jitter callers come back as close together as they failed. Jitter lowers the peak only \
where failures lie well within one base delay of each other: one reset, one shared timeout, cron, \
a restart. Failures that are spread over more than that are spread already.";

/// 500 callers a second for a minute; 503 from 2 s on for the time that the cases vary.
///
/// The peak counts calls served; its bound is callers a second times attempts.
pub(super) fn steady(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let schedule = options.schedule(Schedule::default());
    let compared = options.callers(&Law::ALL, &schedule)?;
    let outages = options.up_at.map_or_else(|| STEADY_OUTAGES.to_vec(), |at| vec![at]);
    let case = |outage: Span| {
        ScenarioCase::new(
            format!("outage {outage}"),
            outage.as_secs_f64(),
            entries(&compared, |caller| steady_plan(outage, caller)),
        )
        .outage((STEADY_DOWN_FROM, STEADY_DOWN_FROM + outage))
    };
    Ok(Scenario::new(
        STEADY_LESSON,
        20,
        schedule.parameters(),
        outages.into_iter().map(case).collect(),
    )
    .varying("outage [s]")
    .counting_served())
}

/// The outages of the reference table.
const STEADY_OUTAGES: [Span; 4] =
    [Span::from_millis(200), Span::from_secs(1), Span::from_secs(5), Span::from_secs(30)];
const STEADY_DOWN_FROM: Instant = Instant::from_nanos(2_000_000_000);
/// The time that the backend works on a call. Callers who came within it before the end of the outage
/// failed, so the first bucket after the outage is a tenth short: the reference has that too.
const STEADY_SERVICE: Span = Span::from_millis(5);

fn steady_plan(outage: Span, caller: &CallerLayer) -> RunPlan {
    let up = STEADY_DOWN_FROM + outage;
    RunPlan {
        backend: Backend::UNLIMITED.serving_in(STEADY_SERVICE),
        faults: vec![Fault::new(Trouble::Refuse, STEADY_DOWN_FROM, up)],
        watch: MeasurementPlan { edge: Instant::ORIGIN, ..MeasurementPlan::default() },
        ..RunPlan::new(
            ArrivalProcess::poisson(500, Instant::ORIGIN + Span::from_secs(60)),
            caller.clone(),
        )
    }
}

const STEADY_LESSON: &str = "\
The no-retry row is the noise of the arrivals alone: read the others against it. Callers that were \
never in step do not come back in step, so the laws differ little. In a long outage the load is \
500 callers a second times the attempts of each, whatever the law, and that is what the backend \
meets when it is up again.";
