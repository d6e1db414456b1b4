//! Fleets of many processes in a stall: budgets of their own, shared ones, and processes that live for one call.

use stagger_core::budget::{BudgetPlan, FloorRate, TokenPlan, WindowPlan};
use stagger_core::{ConfigError, Instant, Rate, Ratio, Span};

use super::{Scenario, ScenarioCase, ScenarioEntry, StormOptions};
use crate::law::{Law, Schedule};
use crate::plan::{
    ArrivalProcess, Away, Backend, CallerLayer, Fault, Fleet, LedgerModel, MeasurementPlan,
    Recovery, RunPlan, SharedBudget, Stretch, Trouble,
};

/// A budget, and the processes that keep it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variant {
    pub(super) name: &'static str,
    pub(super) budget: BudgetPlan,
    pub(super) processes: u32,
    pub(super) ledger: LedgerModel,
}

/// Full jitter under each budget. Callers that never retry come first and have no budget; policies of
/// the user keep their own. Both live in so many processes with the engine's ledger.
pub(super) fn variant_entries(
    options: &StormOptions,
    schedule: &Schedule,
    processes: u32,
    variants: &[Variant],
    plan: impl Fn(CallerLayer, Fleet) -> RunPlan,
) -> Result<Vec<ScenarioEntry>, ConfigError> {
    let mut entries = Vec::new();
    for (name, caller) in options.callers(&[Law::Full], schedule)? {
        let is_own = options.policies.iter().any(|(own, _)| *own == name);
        if is_own || name == Law::NoRetry.name() {
            let fleet = Fleet { processes, ..Fleet::default() };
            entries.push(ScenarioEntry::new(name, plan(caller, fleet)));
            continue;
        }
        for &Variant { name, budget, processes, ledger } in variants {
            let policy = caller.policy.to_builder().budget(budget).build()?;
            let fleet = Fleet { processes, ledger, ..Fleet::default() };
            entries.push(ScenarioEntry::new(
                name,
                plan(CallerLayer { policy, ..caller.clone() }, fleet),
            ));
        }
    }
    Ok(entries)
}

/// A thousand processes make 700 calls a second; nothing is served for five seconds. Each has the
/// bucket of the AWS SDKs, or all share one such bucket.
pub(super) fn fleet(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let schedule = options.schedule(SCHEDULE);
    let processes = options.callers.unwrap_or(PROCESSES);
    let variants = shared_variants(TokenPlan::aws_2_0().into(), processes);
    let entries = variant_entries(options, &schedule, processes, &variants, plan)?;
    Ok(stalled(FLEET_LESSON, &schedule, processes, entries))
}

/// The stall of a fleet of so many processes, with these entries.
pub(super) fn stalled(
    lesson: &str,
    schedule: &Schedule,
    processes: u32,
    entries: Vec<ScenarioEntry>,
) -> Scenario {
    let case = ScenarioCase::new(format!("{processes} processes"), f64::from(processes), entries)
        .outage(STALL)
        .capacity(1_000.0);
    Scenario::new(lesson, 5, schedule.parameters(), vec![case])
        .with("processes", processes)
        .with("calls a second", LOAD)
}

pub(super) const SCHEDULE: Schedule =
    Schedule { base: Span::from_millis(100), cap: Span::from_secs(10), attempts: 4 };
pub(super) const PROCESSES: u32 = 1_000;
pub(super) const LOAD: u32 = 700;
pub(super) const LENGTH: Span = Span::from_secs(90);
pub(super) const STALL: (Instant, Instant) =
    (Instant::from_nanos(10_000_000_000), Instant::from_nanos(15_000_000_000));

/// The places of the bucket, and the troubles of its store.
fn shared_variants(bucket: BudgetPlan, processes: u32) -> [Variant; 6] {
    let shared = shared(bucket, processes);
    let lossy = SharedBudget { loss: Ratio::from_percent(20), ..shared };
    let down = Some(Stretch { from: STALL.0, until: STALL.1 + Span::from_secs(30) });
    let down = SharedBudget { down, ..shared };
    [
        ("no budget", BudgetPlan::Unlimited, LedgerModel::Engine),
        ("500 tokens a process", bucket, LedgerModel::Engine),
        ("500 tokens shared", bucket, LedgerModel::Shared(shared)),
        ("shared, 20 % of requests lost", bucket, LedgerModel::Shared(lossy)),
        ("shared, store down: own share", bucket, LedgerModel::Shared(down)),
        (
            "shared, store down: refuse",
            bucket,
            LedgerModel::Shared(SharedBudget { away: Away::Refuse, ..down }),
        ),
    ]
    .map(|(name, budget, ledger)| Variant { name, budget, processes, ledger })
}

/// One permit at a time: a lease that a thousand processes hold and do not use is a budget of its
/// own.
pub(super) const fn shared(budget: BudgetPlan, nodes: u32) -> SharedBudget {
    SharedBudget {
        budget,
        lease: 1,
        latency: Span::from_millis(1),
        loss: Ratio::ZERO,
        again: Span::from_millis(500),
        down: None,
        away: Away::Local { nodes },
    }
}

/// The stalled backend of the reference: ten workers of 10 ms, a queue without bound, callers who
/// give up after half a second and are served all the same.
pub(super) fn plan(caller: CallerLayer, fleet: Fleet) -> RunPlan {
    RunPlan {
        fleet,
        backend: Backend::of_workers(10, Span::from_millis(10), None),
        faults: vec![Fault::new(Trouble::Stall, STALL.0, STALL.1)],
        watch: MeasurementPlan {
            edge: STALL.1,
            recovery: Recovery::first_tries(),
            ..MeasurementPlan::default()
        },
        ..RunPlan::new(
            ArrivalProcess::poisson(LOAD, Instant::ORIGIN + LENGTH),
            caller.with_timeout(Span::from_millis(500)),
        )
    }
}

const FLEET_LESSON: &str = "\
The bucket of one process protects a server from one process. A thousand of them hold enough \
retries for all that a stall makes fail, and the fleet never recovers, as if there were no budget. \
The same bucket shared lets it recover. A store that is away costs retries, not the recovery: a \
thousandth of 500 tokens is no retry at all, so falling back to the own share refuses here too.";

/// A thousand processes make 700 calls a second, and nothing is served for five seconds. What a
/// budget grants besides its share is granted a thousand times.
pub(super) fn default_fleet(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let schedule = options.schedule(DEFAULT_SCHEDULE);
    let processes = options.callers.unwrap_or(PROCESSES);
    let variants = budgets()?.map(|(name, budget)| Variant {
        name,
        budget,
        processes,
        ledger: LedgerModel::Engine,
    });
    let entries = variant_entries(options, &schedule, processes, &variants, long_plan)?;
    Ok(stalled(DEFAULT_LESSON, &schedule, processes, entries))
}

/// Three attempts, as in the default policy.
const DEFAULT_SCHEDULE: Schedule = Schedule { attempts: 3, ..SCHEDULE };

fn budgets() -> Result<[(&'static str, BudgetPlan); 4], ConfigError> {
    let tenth = WindowPlan::new(Ratio::from_percent(10))?;
    let floor = |rate| tenth.with_floor(FloorRate::Add(rate)).into();
    Ok([
        ("no budget", BudgetPlan::Unlimited),
        ("floor 1/s", floor(Rate::per_second(1))),
        ("default", BudgetPlan::default()),
        ("no floor", floor(Rate::ZERO)),
    ])
}

/// The same stall, watched for long enough that the time to recover is a small part.
fn long_plan(caller: CallerLayer, fleet: Fleet) -> RunPlan {
    let arrivals = ArrivalProcess::poisson(LOAD, Instant::ORIGIN + TEN_MINUTES);
    RunPlan { arrivals: vec![arrivals], ..plan(caller, fleet) }
}

/// Ten minutes.
const TEN_MINUTES: Span = Span::from_secs(600);

const DEFAULT_LESSON: &str = "\
What a budget grants besides its share, each process grants. With a floor of one retry a second, \
1000 processes have 1000 retries a second for a server of 1000 calls a second, which never \
recovers. The default floor of one in 20 s adds 50 a second, so that 700 calls, their tenth and the \
floors stay below what is served. Each process then spends the two retries that it has in hand, \
which is why the default recovers later than no retries at all. The condition is that 1.1 times the \
calls plus 0.05 times the processes stay below the capacity: 10 000 processes need floor = 0, or one \
budget that all of them share. Without a floor a process that makes less than a call a second never \
retries.";

/// The stall of the fleet, and a backend that fails one attempt in twenty and is well otherwise;
/// with a process for every call, beside twenty that stay.
pub(super) fn serverless(options: &StormOptions) -> Result<Scenario, ConfigError> {
    let schedule = options.schedule(SCHEDULE);
    let variants = short_lived_variants()?;
    let case = |label: &str, value, plan: fn(CallerLayer, Fleet) -> RunPlan| {
        let entries = variant_entries(options, &schedule, SHORT_LIVED, &variants, plan)?;
        Ok::<_, ConfigError>(ScenarioCase::new(label, value, entries).capacity(1_000.0))
    };
    Ok(Scenario::new(
        SERVERLESS_LESSON,
        5,
        schedule.parameters(),
        vec![
            case("stall of 5 s", 0.0, plan)?.outage(STALL),
            case("5 % fail", 1.0, one_in_twenty_fail)?,
        ],
    )
    .varying("trouble")
    .with("calls a second", LOAD))
}

/// More processes than calls in 90 s of 700 a second: none has a second call.
const SHORT_LIVED: u32 = 70_000;

/// The budgets, each in a process for every call or in twenty processes that stay.
fn short_lived_variants() -> Result<[Variant; 7], ConfigError> {
    let bucket = TokenPlan::aws_2_0();
    let empty = bucket.with_initial(0)?.into();
    let (bucket, tenth) = (bucket.into(), BudgetPlan::default());
    let one_a_call = LedgerModel::Shared(shared(tenth, SHORT_LIVED));
    let all = [
        ("no budget", SHORT_LIVED, BudgetPlan::Unlimited, LedgerModel::Engine),
        ("bucket, 20 that stay", 20, bucket, LedgerModel::Engine),
        ("bucket, one a call", SHORT_LIVED, bucket, LedgerModel::Engine),
        ("empty bucket, one a call", SHORT_LIVED, empty, LedgerModel::Engine),
        ("10 %, 20 that stay", 20, tenth, LedgerModel::Engine),
        ("10 %, one a call", SHORT_LIVED, tenth, LedgerModel::Engine),
        ("10 % shared, one a call", SHORT_LIVED, tenth, one_a_call),
    ];
    Ok(all.map(|(name, processes, budget, ledger)| Variant { name, budget, processes, ledger }))
}

/// The same plan, in which one attempt in twenty fails all the time.
fn one_in_twenty_fail(caller: CallerLayer, fleet: Fleet) -> RunPlan {
    let one_in_twenty = Trouble::Failing(Ratio::from_percent(5));
    let faults = vec![Fault::new(one_in_twenty, Instant::ORIGIN, Instant::FAR)];
    RunPlan { faults, ..plan(caller, fleet) }
}

const SERVERLESS_LESSON: &str = "\
A budget remembers, and a process that lives for one call remembers nothing: a full bucket grants \
every retry, an empty one none, whatever the others see. A shared budget bounds the storm, but \
permits are leased before anybody knows who will need one, so few of the retries that would help \
get theirs. What helps both times is a budget in something that stays: a proxy, a pool, a gateway.";
