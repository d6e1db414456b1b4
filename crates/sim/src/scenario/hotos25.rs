//! How long a queue may be: bounds around capacity times timeout.

use stagger_core::{ConfigError, Instant, Ratio, Span};

use super::metastable::{asking, with_workers};
use super::story::{Case, Entry, Options, Peak, Play, Scenario};
use crate::law::{Law, Schedule};
use crate::plan::{
    Arrivals, Backend, Book, Caller, Deposit, Fault, Fleet, Full, Paying, Plan, Recovery, Service,
    Trouble, Watch,
};

/// A server with exponential service and a bounded queue that drops in silence; callers send again
/// at once when they have waited long enough, and nothing is ever cancelled.
///
/// Source: Isaacs et al., "Analyzing Metastable Failures" (HotOS 2025).
pub(super) fn scenario(options: &Options) -> Result<Scenario, ConfigError> {
    let attempts = |attempts| Schedule { base: Span::ZERO, cap: Span::ZERO, attempts };
    let schedule = options.schedule(attempts(env("ATT", 4)));
    let tenth = Deposit { paying: Paying::Calls, amount: Ratio::from_percent(10), bucket: 10, start: 10 };
    let compared: Vec<(&str, Caller, Book)> = vec![
        ("no-retry", Law::NoRetry.caller(&schedule)?, Book::Engine),
        ("retries", Law::Fixed.caller(&schedule)?, Book::Engine),
        ("1 retry", Law::Fixed.caller(&Schedule { attempts: 2, ..schedule })?, Book::Engine),
        ("10 % budget", asking(Law::Fixed, &schedule)?, Book::Deposit(tenth)),
    ];
    let case = |bound: u32| {
        let entry = |(name, caller, book): &(&str, Caller, Book)| Entry {
            name: (*name).to_owned(),
            play: Play::World(Box::new(plan(bound, caller, *book))),
        };
        Case {
            entries: compared.iter().map(entry).collect(),
            ..Case::new(format!("queue {bound}"), f64::from(bound))
        }
    };
    Ok(Scenario {
        lesson: LESSON.to_owned(),
        runs: 10,
        varied: Some("queue".to_owned()),
        peak: Peak::Attempts,
        parameters: schedule.parameters(),
        cases: BOUNDS.map(case).into(),
        ..Scenario::default()
    })
}

const BOUNDS: [u32; 9] = [35, 40, 45, 50, 55, 60, 75, 100, 150];

fn env(name: &str, default: u32) -> u32 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

fn plan(bound: u32, caller: &Caller, book: Book) -> Plan {
    let from = Instant::ORIGIN + Span::from_millis(u64::from(env("FROM", 30_000)));
    let until = from + Span::from_millis(u64::from(env("D", 10_000)));
    let backend = Backend {
        service: Service::Exponential(Span::from_millis(u64::from(env("SERVICE", 100)))),
        ..Backend::of_workers(1, Span::ZERO, Some(bound))
    };
    let gap = Span::from_micros(u64::from(env("GAP", 125_000)));
    let trouble = if env("SLOW", 0) > 0 { Trouble::Slow(Ratio::from_percent(env("SLOW", 0))) } else { Trouble::Stall };
    let plan = Plan {
        backend,
        faults: vec![Fault::new(trouble, from, until)],
        fleet: Fleet { processes: 1, book, ..Fleet::default() },
        watch: Watch { edge: until, recovery: Recovery::FirstTries {
            bucket: Span::from_millis(u64::from(env("BUCKET", 500))), row: env("ROW", 10), share: Ratio::from_percent(env("SHARE", 99)), within: Span::from_secs(u64::from(env("WITHIN", 1000))) }, ..Watch::default() },
        ..Plan::new(
            Arrivals::Poisson { gap, until: until + Span::from_secs(u64::from(env("LEN", 1200))) },
            caller.clone().with_timeout(Span::from_millis(u64::from(env("TAU", 5_000)))),
        )
    };
    with_workers(plan, |workers| workers.full = Full::Drop)
}

const LESSON: &str = "";
