//! The synchrony of failures at which jitter begins to matter.

use stagger_core::{ConfigError, Instant, Span};

use super::{Case, Options, Peak, Scenario, entries};
use crate::law::{Law, Schedule};
use crate::plan::{Arrivals, Backend, Caller, Fault, Plan, Trouble, Watch};

/// 1000 clients notice one failure at normally distributed times around 0.5 s; the backend is up
/// at 0.7 s. Then two that are nearly in step by nature: cron, and one reset of all that hung.
///
/// The peak counts calls served, from the first 50 ms on.
pub(super) fn scenario(options: &Options) -> Result<Scenario, ConfigError> {
    let schedule = options.schedule(Schedule::default());
    let laws =
        [Law::NoRetry, Law::Fixed, Law::None, Law::Equal, Law::Full, Law::DecorrelatedClamped];
    let compared = options.callers(&laws, &schedule)?;
    let callers = options.callers.unwrap_or(1_000);
    let up_at = Instant::ORIGIN + options.up_at.unwrap_or(UP_AT);
    let spread = |sigma: Span| Case {
        outages: vec![(Instant::ORIGIN, up_at)],
        entries: entries(&compared, |caller| noticed(callers, sigma, up_at, caller)),
        ..Case::new(format!("sigma {sigma}"), sigma.as_secs_f64() * 1e3)
    };
    let mut cases: Vec<Case> = SIGMAS.map(spread).into();
    if options.up_at.is_none() {
        cases.push(Case {
            outages: vec![(Instant::ORIGIN, Instant::ORIGIN + CRON_OUTAGE)],
            entries: entries(&compared, |caller| cron(callers, caller)),
            ..Case::new("cron".to_owned(), f64::NAN)
        });
        cases.push(Case {
            outages: vec![(HANG.0, HANG.1)],
            entries: entries(&compared, reset),
            ..Case::new("one reset".to_owned(), f64::NAN)
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

fn noticed(callers: u32, sigma: Span, up_at: Instant, caller: &Caller) -> Plan {
    let at = Instant::ORIGIN + NOTICED_AT;
    Plan {
        backend: Backend::UNLIMITED.serving_in(SERVICE),
        faults: vec![Fault::new(Trouble::Refuse, Instant::ORIGIN, up_at)],
        watch: Watch { edge: up_at, ..Watch::default() },
        ..Plan::new(Arrivals::Noticed { callers, at, sigma, over: up_at }, caller.clone())
    }
}

fn cron(callers: u32, caller: &Caller) -> Plan {
    let up_at = Instant::ORIGIN + CRON_OUTAGE;
    let over = Span::from_millis(10);
    Plan {
        backend: Backend::UNLIMITED.serving_in(SERVICE),
        faults: vec![Fault::new(Trouble::Refuse, Instant::ORIGIN, up_at)],
        watch: Watch { edge: up_at, ..Watch::default() },
        ..Plan::new(Arrivals::Spread { callers, from: Instant::ORIGIN, over }, caller.clone())
    }
}

/// 500 callers a second; what arrives in one second hangs and is reset at its end.
fn reset(caller: &Caller) -> Plan {
    let (from, reset, up) = HANG;
    let arrivals = Arrivals::poisson(500, Instant::ORIGIN + Span::from_secs(10));
    Plan {
        backend: Backend::UNLIMITED.serving_in(SERVICE),
        faults: vec![
            Fault::new(Trouble::Hang, from, reset),
            Fault::new(Trouble::Refuse, reset, up),
        ],
        watch: Watch { edge: up, ..Watch::default() },
        ..Plan::new(arrivals, caller.clone())
    }
}

const LESSON: &str = "\
Without jitter callers come back as close together as they failed. Jitter lowers the peak only \
where failures lie well within one base delay of each other: one reset, one shared timeout, cron, \
a restart. Failures that are spread over more than that are spread already.";
