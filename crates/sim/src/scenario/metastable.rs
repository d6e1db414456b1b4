//! Metastable failure: retries keep a queue full after the outage that filled it is over.

use stagger_core::breaker::{BreakerPlan, WindowKind};
use stagger_core::budget::BudgetPlan;
use stagger_core::{ConfigError, Instant, Policy, Ratio, Span};

use super::{Scenario, ScenarioCase, ScenarioEntry, StormOptions, entries};
use crate::law::{Law, Schedule};
use crate::plan::{
    ArrivalProcess, Backend, CallerLayer, Cancel, Deposit, Fault, Fleet, LedgerModel,
    MeasurementPlan, Paying, QueueDiscipline, Recovery, RunPlan, Trouble, Workers,
};

/// The time for which callers come.
const LENGTH: Span = Span::from_secs(90);
/// The trouble.
pub(super) const OUTAGE: (Instant, Instant) =
    (Instant::from_nanos(10_000_000_000), Instant::from_nanos(15_000_000_000));
/// The time that a caller waits for an answer.
const TIMEOUT: Span = Span::from_millis(500);
/// The capacity of ten workers of 10 ms, in attempts a second.
pub(super) const CAPACITY: f64 = 1_000.0;
/// Attempts of the reference.
pub(super) const SCHEDULE: Schedule =
    Schedule { base: Span::from_millis(100), cap: Span::from_secs(10), attempts: 4 };

/// Ten workers of 10 ms behind a queue without bound, who never learn that a caller has gone.
pub(super) fn plan(trouble: Trouble, load: u32, caller: CallerLayer) -> RunPlan {
    plan_between(trouble, OUTAGE, load, caller)
}

/// The same with the trouble at another time.
pub(super) fn plan_between(
    trouble: Trouble,
    (from, until): (Instant, Instant),
    load: u32,
    caller: CallerLayer,
) -> RunPlan {
    RunPlan {
        backend: Backend::of_workers(10, Span::from_millis(10), None),
        faults: vec![Fault::new(trouble, from, until)],
        watch: MeasurementPlan {
            edge: until,
            recovery: Recovery::first_tries(),
            ..MeasurementPlan::default()
        },
        ..RunPlan::new(
            ArrivalProcess::poisson(load, Instant::ORIGIN + LENGTH),
            caller.with_timeout(TIMEOUT),
        )
    }
}

/// A caller of `law` whose retries are asked for, so that a foreign budget can answer.
pub(super) fn asking(law: Law, schedule: &Schedule) -> Result<CallerLayer, ConfigError> {
    let caller = law.caller(schedule)?;
    let policy = caller.policy.to_builder().budget(BudgetPlan::None).build()?;
    Ok(CallerLayer { policy, ..caller })
}

/// The bucket of the reference: a tenth of a retry for each success.
pub(super) fn tenth(bucket: u32) -> LedgerModel {
    LedgerModel::Deposit(Deposit {
        paying: Paying::Successes,
        amount: Ratio::from_percent(10),
        bucket,
    })
}

/// The breaker of the reference, one in each process: the last 100 calls, 50 % of at least 20, open
/// for a second, five probes.
pub(super) fn broken(caller: &CallerLayer) -> Result<CallerLayer, ConfigError> {
    let breaker = BreakerPlan::builder()
        .window(WindowKind::Calls(100))
        .ratio(Ratio::from_percent(50))
        .minimum_calls(20)
        .open_time(Span::from_secs(1))
        .open_factor(Ratio::ONE)
        .open_cap(Span::from_secs(1))
        .probes(5)
        .build()?;
    let policy = caller.policy.to_builder().breaker(breaker).build()?;
    Ok(CallerLayer { policy, ..caller.clone() })
}

/// Refusals: does the retry wave tip a backend that was never broken itself?
pub(super) fn refused(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let schedule = options.schedule(SCHEDULE);
    let laws =
        [Law::NoRetry, Law::None, Law::DecorrelatedClamped, Law::Octave, Law::Equal, Law::Full];
    let mut compared = options.callers(&laws, &schedule)?;
    if options.base.is_none() {
        for (law, base) in EQUAL_WAIT {
            let equal = Schedule { base: Span::from_micros(base), ..schedule };
            compared.push((format!("{law}, equal wait"), law.caller(&equal)?));
        }
    }
    let loads = options.callers.map_or_else(|| REFUSED_LOADS.to_vec(), |load| vec![load]);
    let cases = loads.into_iter().map(|load| {
        let plan = |caller: &CallerLayer| plan(Trouble::Refuse, load, caller.clone());
        load_case(load, entries(&compared, plan))
    });
    Ok(Scenario::new(REFUSED_LESSON, 5, schedule.parameters(), cases.collect())
        .varying("load [1/s]")
        .with("timeout", TIMEOUT))
}

const REFUSED_LOADS: [u32; 6] = [700, 750, 800, 850, 900, 950];
/// The bases, in microseconds, that give every law the mean total wait of un-jittered backoff.
const EQUAL_WAIT: [(Law, u64); 3] =
    [(Law::DecorrelatedClamped, 62_200), (Law::Equal, 133_000), (Law::Full, 200_000)];

/// A stall: attempts are accepted and nothing is served.
pub(super) fn stalled(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let schedule = options.schedule(SCHEDULE);
    let loads = options.callers.map_or_else(|| STALLED_LOADS.to_vec(), |load| vec![load]);
    let cases = loads.into_iter().map(|load| {
        let entries = remedies(options, &schedule, load)?;
        Ok(load_case(load, entries))
    });
    Ok(Scenario::new(
        STALLED_LESSON,
        5,
        schedule.parameters(),
        cases.collect::<Result<_, ConfigError>>()?,
    )
    .varying("load [1/s]")
    .with("timeout", TIMEOUT))
}

const STALLED_LOADS: [u32; 4] = [300, 500, 700, 900];

/// The laws, and then everything that helps or does not.
fn remedies(
    options: &StormOptions,
    schedule: &Schedule,
    load: u32,
) -> Result<Vec<ScenarioEntry>, ConfigError> {
    let stalled = |caller: &CallerLayer| plan(Trouble::Stall, load, caller.clone());
    let laws =
        [Law::NoRetry, Law::Fixed, Law::None, Law::Equal, Law::Full, Law::DecorrelatedClamped];
    let immediate = Schedule { base: Span::ZERO, cap: Span::ZERO, ..*schedule };
    let mut plans: Vec<(String, RunPlan)> = Vec::new();
    for (name, caller) in options.callers(&laws, schedule)? {
        plans.push((name, stalled(&caller)));
    }
    let full = Law::Full.caller(schedule)?;
    plans.insert(1, ("immediate".to_owned(), stalled(&Law::Fixed.caller(&immediate)?)));
    let processes = |plan: RunPlan, ledger| {
        let fleet = Fleet { processes: 20, ledger, ..Fleet::default() };
        RunPlan { fleet, ..plan }
    };
    let budget = || -> Result<RunPlan, ConfigError> {
        Ok(processes(stalled(&asking(Law::Full, schedule)?), tenth(10)))
    };
    let short = |plan: RunPlan| with_workers(plan, |workers| workers.queue = Some(200));
    plans.push(("full + budget".to_owned(), budget()?));
    let mut breaking = processes(stalled(&broken(&full)?), LedgerModel::Engine);
    plans.push(("full + breaker".to_owned(), breaking.clone()));
    breaking.fleet.steady_breakers = true;
    plans.push(("full + breaker, no jitter".to_owned(), breaking));
    plans.push(("full + queue 200".to_owned(), short(stalled(&full))));
    plans.push(("full + budget + queue 200".to_owned(), short(budget()?)));
    let cancel = |cancel| with_workers(stalled(&full), |workers| workers.cancel = cancel);
    plans.push(("full, drop expired".to_owned(), cancel(Cancel::Expired)));
    plans.push(("full, drop hopeless".to_owned(), cancel(Cancel::Hopeless)));
    let newest =
        with_workers(stalled(&full), |workers| workers.order = QueueDiscipline::NewestFirst);
    plans.push(("full, newest first".to_owned(), newest));
    Ok(plans.into_iter().map(|(name, plan)| ScenarioEntry::new(name, plan)).collect())
}

/// The plan with other rules for its workers.
pub(super) fn with_workers(mut plan: RunPlan, change: impl FnOnce(&mut Workers)) -> RunPlan {
    if let Some(workers) = &mut plan.backend.workers {
        change(workers);
    }
    plan
}

pub(super) fn load_case(load: u32, entries: Vec<ScenarioEntry>) -> ScenarioCase {
    ScenarioCase::new(format!("load {load}/s"), f64::from(load), entries)
        .outage(OUTAGE)
        .capacity(CAPACITY)
}

const REFUSED_LESSON: &str = "\
The backend is up again and has all its capacity, and yet it may never recover: a retry wave that \
queues more work than is served within one timeout makes every attempt too late, and all of them \
come again. The bound is capacity times timeout, 500 attempts here. At equal numbers of attempts \
the laws differ; at equal mean total wait they hardly do.";

const STALLED_LESSON: &str = "\
A queue that filled while nothing was served stays full of attempts that nobody waits for. No law \
and no base helps: jitter spreads the retries and does not make them fewer. What helps is to send \
fewer (a budget, a breaker), to queue less than capacity times timeout, or to drop what cannot be \
finished in time.";

/// Poisson callers at 70 % of the capacity, and a server whose port refuses every connection for ten
/// seconds. The default policy beside the same policy without a budget: a refused connection costs budget
/// like any retry, although nothing was processed, because a crashed server refuses every caller.
pub(super) fn crashed(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let schedule = options.schedule(SCHEDULE);
    let load = options.callers.unwrap_or(CRASHED_LOAD);
    let usual = Policy::builder().build()?;
    let unbudgeted = usual.to_builder().budget(BudgetPlan::Unlimited).build()?;
    let mut compared = options.callers(&[Law::Full], &schedule)?;
    compared.push(("default, no budget".to_owned(), CallerLayer::new(unbudgeted)));
    compared.push(("default policy".to_owned(), CallerLayer::new(usual)));
    let case = ScenarioCase::new(
        format!("load {load}/s"),
        f64::from(load),
        entries(&compared, |caller| crashed_plan(load, caller)),
    )
    .outage(CRASH)
    .capacity(CAPACITY);
    Ok(Scenario::new(CRASHED_LESSON, 5, schedule.parameters(), vec![case])
        .with("processes", CRASHED_PROCESSES))
}

/// From the crash until the restart.
const CRASH: (Instant, Instant) =
    (Instant::from_nanos(10_000_000_000), Instant::from_nanos(20_000_000_000));
const CRASHED_LOAD: u32 = 700;
const CRASHED_PROCESSES: u32 = 20;

/// The peak is looked for from the crash on: what callers send to a closed port is the storm.
fn crashed_plan(load: u32, caller: &CallerLayer) -> RunPlan {
    let mut plan = plan_between(Trouble::PortClosed, CRASH, load, caller.clone());
    plan.fleet = Fleet { processes: CRASHED_PROCESSES, ..Fleet::default() };
    plan.watch.peak_from = Some(CRASH.0);
    plan
}

const CRASHED_LESSON: &str = "\
A crashed server refuses connections at once, so callers run through their attempts as fast as their \
delays allow: the closed port gets three times the calls, and hardly any call is saved, because the \
crash is longer than all delays together. A refused call was not processed and may always be \
repeated, but it is not free: under the default budget callers spend what they have in hand, and \
then a tenth of the calls.";
