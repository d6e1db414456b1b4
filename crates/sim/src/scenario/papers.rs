//! The experiments of three papers: slowness (OSDI 2022), the length of a queue (HotOS 2025), and a share of failures (Brooker 2022).

use stagger_core::{ConfigError, Instant, Ratio, Span};

use super::metastable::{asking, with_workers};
use super::{Play, Scenario, ScenarioCase, ScenarioEntry, StormOptions, entries};
use crate::law::{Law, Schedule};
use crate::plan::{
    ArrivalProcess, Backend, CallerLayer, Deposit, Fault, FirstCalls, FirstTriesRule, Fleet, Full,
    Hop, LedgerModel, MeasurementPlan, Paying, Recovery, RunPlan, Service, Trouble,
};

/// The backend of `stall` at 38 % load loses most of its capacity for a while; callers wait 3 s and
/// make five attempts without a delay between them.
///
/// Source: Huang et al., "Metastable Failures in the Wild" (OSDI 2022), figure 4.
pub(super) fn osdi22(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let schedule = options.schedule(Schedule { base: Span::ZERO, cap: Span::ZERO, attempts: 5 });
    let compared = options.callers(&[Law::NoRetry, Law::Fixed], &schedule)?;
    let case = |trigger: &Trigger| {
        ScenarioCase::new(
            trigger.label(),
            f64::from(trigger.left),
            entries(&compared, |caller| trigger.plan(caller)),
        )
        .outage((DOWN_FROM, DOWN_FROM + trigger.over))
        .capacity(1_000.0)
    };
    Ok(Scenario::new(OSDI22_LESSON, 10, schedule.parameters(), TRIGGERS.iter().map(case).collect())
        .varying("capacity left [1/1000]"))
}

/// One panel.
#[derive(Clone, Copy, Debug)]
struct Trigger {
    /// The capacity that is left, in thousandths.
    left: u32,
    over: Span,
    /// Callers a second.
    load: u32,
}

const TRIGGERS: [Trigger; 4] = [
    Trigger { left: 225, over: Span::from_secs(10), load: 380 },
    Trigger { left: 200, over: Span::from_secs(10), load: 380 },
    Trigger { left: 200, over: Span::from_secs(9), load: 380 },
    Trigger { left: 200, over: Span::from_secs(10), load: 285 },
];
const DOWN_FROM: Instant = Instant::from_nanos(30_000_000_000);
const OSDI22_TIMEOUT: Span = Span::from_secs(3);

impl Trigger {
    fn label(&self) -> String {
        let left = f64::from(self.left) / 10.0;
        format!("{left} % for {}, load {}/s", self.over, self.load)
    }

    fn plan(&self, caller: &CallerLayer) -> RunPlan {
        let until = DOWN_FROM + self.over;
        let slower = Trouble::Slow(Ratio::from_ppm(1_000_000_000 / self.left));
        RunPlan {
            backend: Backend::of_workers(10, Span::from_millis(10), None),
            faults: vec![Fault::new(slower, DOWN_FROM, until)],
            watch: MeasurementPlan {
                edge: until,
                recovery: Recovery::first_tries(),
                ..MeasurementPlan::default()
            },
            ..RunPlan::new(
                ArrivalProcess::poisson(self.load, until + Span::from_secs(80)),
                caller.clone().with_timeout(OSDI22_TIMEOUT),
            )
        }
    }
}

const OSDI22_LESSON: &str = "\
Whether a system recovers by itself depends on a hair: a little more capacity left, one second less \
of trouble, or a quarter less load, and the same callers are served again. Past that edge the \
retries alone are more than the backend can do, for ever.";

/// A server with exponential service and a bounded queue that drops in silence; callers send again
/// at once when they have waited long enough, and nothing is ever cancelled.
///
/// Source: Isaacs et al., "Analyzing Metastable Failures" (HotOS 2025).
pub(super) fn hotos25(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let attempts = |attempts| Schedule { base: Span::ZERO, cap: Span::ZERO, attempts };
    let schedule = options.schedule(attempts(6));
    let tenth = Deposit { paying: Paying::Calls, amount: Ratio::from_percent(10), bucket: 10 };
    let compared: Vec<(&str, CallerLayer, LedgerModel)> = vec![
        ("no-retry", Law::NoRetry.caller(&schedule)?, LedgerModel::Engine),
        ("retries", Law::Fixed.caller(&schedule)?, LedgerModel::Engine),
        ("1 retry", Law::Fixed.caller(&Schedule { attempts: 2, ..schedule })?, LedgerModel::Engine),
        ("10 % budget", asking(Law::Fixed, &schedule)?, LedgerModel::Deposit(tenth)),
    ];
    let case = |bound: u32| {
        let entry = |(name, caller, ledger): &(&str, CallerLayer, LedgerModel)| ScenarioEntry {
            name: (*name).to_owned(),
            play: Play::Run(Box::new(hotos25_plan(bound, caller, *ledger))),
        };
        ScenarioCase::new(
            format!("queue {bound}"),
            f64::from(bound),
            compared.iter().map(entry).collect(),
        )
        .outage(HOTOS25_STALL)
        .capacity(10.0)
    };
    Ok(Scenario::new(HOTOS25_LESSON, 10, schedule.parameters(), BOUNDS.map(case).into())
        .varying("queue"))
}

const BOUNDS: [u32; 9] = [35, 40, 45, 50, 55, 60, 75, 100, 150];

/// One worker of 100 ms, half busy: a queue of 50 is what it serves within the timeout.
const HOTOS25_SERVICE: Span = Span::from_millis(100);
const GAP: Span = Span::from_millis(200);
const HOTOS25_TIMEOUT: Span = Span::from_secs(5);
/// Nothing is served meanwhile, which fills any of these queues with attempts of callers who have
/// gone.
const HOTOS25_STALL: (Instant, Instant) =
    (Instant::from_nanos(30_000_000_000), Instant::from_nanos(50_000_000_000));
/// The time for which callers come after that; a run that has not recovered in two thirds of it never does.
const AFTERWARDS: Span = Span::from_secs(1_500);

/// Five buckets of a second: five callers come in each, so all of their first attempts must succeed.
fn recovery() -> Recovery {
    Recovery::FirstTries(FirstTriesRule {
        bucket: Span::from_secs(1),
        row: 5,
        share: Ratio::from_percent(99),
        within: Span::from_secs(1_000),
    })
}

fn hotos25_plan(bound: u32, caller: &CallerLayer, ledger: LedgerModel) -> RunPlan {
    let (from, until) = HOTOS25_STALL;
    let backend = Backend {
        service: Service::Exponential(HOTOS25_SERVICE),
        ..Backend::of_workers(1, Span::ZERO, Some(bound))
    };
    let plan = RunPlan {
        backend,
        faults: vec![Fault::new(Trouble::Stall, from, until)],
        fleet: Fleet { ledger, ..Fleet::default() },
        watch: MeasurementPlan { edge: until, recovery: recovery(), ..MeasurementPlan::default() },
        ..RunPlan::new(
            ArrivalProcess::Poisson { gap: GAP, until: until + AFTERWARDS },
            caller.clone().with_timeout(HOTOS25_TIMEOUT),
        )
    };
    with_workers(plan, |workers| workers.full = Full::Drop)
}

const HOTOS25_LESSON: &str = "\
A queue that is longer than what is served within one timeout can fill with attempts that nobody \
waits for, and then every answer comes too late. Below that bound a system recovers from any \
trouble; a little above it, by luck; well above it, never. A single retry still recovers where five \
do not, and a budget of 10 % recovers under every bound.";

/// Poisson clients, exponential hops of 10 ms, and a backend that fails each attempt with a
/// probability that the cases vary, for 100 s.
///
/// Source: Brooker, "Fixing retries with token buckets and circuit breakers" (2022).
pub(super) fn failing(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let schedule = options.schedule(Schedule { base: Span::ZERO, cap: Span::ZERO, attempts: 4 });
    let retrying = Law::Fixed.caller(&schedule)?;
    let asking = asking(Law::Fixed, &schedule)?;
    let few = Crowd { processes: 100, rate: 1_000 };
    let many = Crowd { processes: 1_000, rate: 100 };
    let bucket = |paying| LedgerModel::Deposit(Deposit { paying, amount: TENTH, bucket: 5 });
    let compared: Vec<(&str, Crowd, CallerLayer, LedgerModel)> = vec![
        ("no-retry", few, Law::NoRetry.caller(&schedule)?, LedgerModel::Engine),
        ("3 retries", few, retrying, LedgerModel::Engine),
        ("bucket by calls", few, asking.clone(), bucket(Paying::Calls)),
        ("bucket by successes", few, asking.clone(), bucket(Paying::Successes)),
        ("breaker for life", few, asking.clone(), LedgerModel::Lifetime(TENTH)),
        ("1000 clients, bucket", many, asking.clone(), bucket(Paying::Successes)),
        ("1000 clients, breaker", many, asking, LedgerModel::Lifetime(TENTH)),
    ];
    let case = |percent: u32| {
        let entry = |(name, crowd, caller, ledger): &(&str, Crowd, CallerLayer, LedgerModel)| {
            ScenarioEntry {
                name: (*name).to_owned(),
                play: Play::Run(Box::new(crowd.plan(percent, caller, *ledger))),
            }
        };
        ScenarioCase::new(
            format!("{percent} % fail"),
            f64::from(percent),
            compared.iter().map(entry).collect(),
        )
    };
    Ok(Scenario::new(FAILING_LESSON, 10, schedule.parameters(), PERCENTAGES.map(case).into())
        .varying("failing [%]"))
}

const PERCENTAGES: [u32; 5] = [5, 10, 20, 50, 100];
const TENTH: Ratio = Ratio::from_percent(10);
const FAILING_LENGTH: Span = Span::from_secs(100);
/// As in the source, all clients make their first call at the origin. That burst and its retries, which
/// wait for nothing, are over by then: it is no figure of the traffic that is compared.
const PEAK_FROM: Instant = Instant::from_nanos(1_000_000_000);
const HOP: Span = Span::from_millis(10);

/// Clients, and calls of all of them a second.
#[derive(Clone, Copy, Debug)]
struct Crowd {
    processes: u32,
    rate: u32,
}

impl Crowd {
    fn arrivals(self) -> ArrivalProcess {
        let gap = Span::from_secs(u64::from(self.processes)).as_nanos() / u64::from(self.rate);
        let (clients, gap) = (self.processes, Span::from_nanos(gap));
        let (first, until) = (FirstCalls::AtOrigin, Instant::ORIGIN + FAILING_LENGTH);
        ArrivalProcess::Clients { clients, gap, first, until }
    }

    fn plan(self, percent: u32, caller: &CallerLayer, ledger: LedgerModel) -> RunPlan {
        let failing = Trouble::Failing(Ratio::from_percent(percent));
        RunPlan {
            hop: Hop::Exponential(HOP),
            faults: vec![Fault::new(failing, Instant::ORIGIN, Instant::FAR)],
            fleet: Fleet { processes: self.processes, ledger, ..Fleet::default() },
            watch: MeasurementPlan { peak_from: Some(PEAK_FROM), ..MeasurementPlan::default() },
            ..RunPlan::new(self.arrivals(), caller.clone())
        }
    }
}

const FAILING_LESSON: &str = "\
Retries turn a few failures into none and many failures into several times the load. A bucket that \
holds little against the calls of the fleet bounds the load at 1.1 times whatever happens; one that \
is paid by successes pays nothing when nothing succeeds. With many clients that call seldom the \
bucket of each is never empty, and the bound is gone. A breaker over the whole life of a process \
gives up helping as soon as more than its share fails.";
