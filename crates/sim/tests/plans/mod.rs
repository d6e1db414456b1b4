//! Small plans that between them come by every part of a simulation.

use stagger_core::breaker::BreakerPlan;
use stagger_core::budget::WindowPlan;
use stagger_core::hedge::HedgePlan;
use stagger_core::{Instant, PolicyBuilder, Ratio, Span};
use stagger_sim::{
    ArrivalProcess, Backend, CallerLayer, Cancel, Connections, Deposit, Fault, Full, Hop, Law,
    LedgerModel, Paying, QueueDiscipline, Recovery, RunPlan, Schedule, Scope, ServerRateLimit,
    Service, Trouble, Workers,
};

/// Milliseconds after the origin.
pub(crate) fn at(ms: u64) -> Instant {
    Instant::ORIGIN + Span::from_millis(ms)
}

/// Full jitter from 100 ms to 10 s, four attempts.
pub(crate) fn caller() -> CallerLayer {
    let schedule = Schedule { attempts: 4, ..Schedule::default() };
    Law::Full.caller(&schedule).expect("a valid schedule")
}

fn with(change: impl FnOnce(PolicyBuilder) -> PolicyBuilder) -> CallerLayer {
    CallerLayer::new(change(caller().policy.to_builder()).build().expect("a valid policy"))
}

/// Model P of the lab's documents: all fail at once, and the backend is up after a second.
pub(crate) fn model_p(callers: u32) -> RunPlan {
    let base = Span::from_millis(500);
    let schedule = Schedule { base, cap: Span::from_secs(10), attempts: 4 };
    let caller = Law::Full.caller(&schedule).expect("a valid schedule");
    let mut plan = RunPlan::new(ArrivalProcess::Together { callers }, caller);
    plan.faults.push(Fault::new(Trouble::Refuse, at(0), at(1_000)));
    plan
}

/// Ten workers before which a queue fills up while they are stalled.
pub(crate) fn stall() -> RunPlan {
    let mut plan = RunPlan::new(
        ArrivalProcess::poisson(700, at(6_000)),
        caller().with_timeout(Span::from_millis(500)),
    );
    plan.backend = Backend::of_workers(10, Span::from_millis(10), None);
    plan.faults.push(Fault::new(Trouble::Stall, at(1_000), at(1_800)));
    plan.watch.edge = at(1_800);
    plan.watch.recovery = Recovery::first_tries();
    plan
}

/// Every plan by name.
pub(crate) fn all() -> Vec<(&'static str, RunPlan)> {
    vec![
        ("model P", model_p(3_000)),
        ("stall", stall()),
        ("hopeless dropped", hopeless_dropped()),
        ("newest first", newest_first()),
        ("far away", far_away()),
        ("hedged", hedged()),
        ("layers", layers()),
        ("throttled", throttled()),
        ("processes", processes()),
        ("closed", closed()),
        ("hang", hang()),
    ]
}

fn hopeless_dropped() -> RunPlan {
    let mut plan = stall();
    let rules = Workers::new(10, Some(200));
    let cancel = Cancel::Hopeless;
    plan.backend.workers = Some(Workers { full: Full::Drop, cancel, ..rules });
    plan
}

fn newest_first() -> RunPlan {
    let mut plan = stall();
    plan.backend.service = Service::Exponential(Span::from_millis(10));
    let rules = Workers::new(10, Some(100));
    let collapse = Ratio::from_ppm(1_000);
    plan.backend.workers = Some(Workers {
        order: QueueDiscipline::NewestFirst,
        cancel: Cancel::Expired,
        collapse,
        ..rules
    });
    plan
}

fn far_away() -> RunPlan {
    let mut plan = stall();
    plan.hop = Hop::Exponential(Span::from_millis(20));
    plan.fleet.processes = 7;
    plan.fleet.connections = Some(Connections { count: 5 });
    plan
}

fn hedged() -> RunPlan {
    let hedge = HedgePlan::fixed(Span::from_millis(30), 3).expect("a valid plan");
    let mut plan =
        RunPlan::new(ArrivalProcess::poisson(500, at(3_000)), with(|own| own.hedge(hedge)));
    plan.hop = Hop::Fixed(Span::from_millis(2));
    let share = Ratio::from_percent(10);
    let (usual, slow) = (Span::from_millis(10), Span::from_millis(300));
    plan.backend.service = Service::Tail { usual, slow, share };
    plan.faults.push(Fault::new(Trouble::Failing(share), at(1_000), at(2_000)));
    plan
}

fn layers() -> RunPlan {
    let mut plan = stall();
    plan.callers = vec![with(|own| own.attempt_timeout(Span::from_secs(2))), caller(), caller()];
    plan.hop = Hop::Fixed(Span::from_millis(1));
    plan
}

fn throttled() -> RunPlan {
    let mut plan = model_p(2_000);
    let every = Span::from_millis(2);
    plan.backend.limit = Some(ServerRateLimit::Tokens { burst: 10, every });
    plan.faults = vec![Fault::new(Trouble::RefuseFor(every), at(0), at(300))];
    plan.arrivals.push(ArrivalProcess::Spread { callers: 500, from: at(100), over: every });
    plan
}

fn processes() -> RunPlan {
    let budget = WindowPlan::new(Ratio::from_percent(20)).expect("a valid share");
    let own = with(|own| own.budget(budget).breaker(BreakerPlan::default()).wait_for_breaker(true));
    let mut plan = RunPlan::new(ArrivalProcess::poisson(900, at(4_000)), own);
    plan.backend.shards = 4;
    (plan.fleet.processes, plan.fleet.scope) = (20, Scope::Shard);
    plan.faults = vec![Fault::new(Trouble::Refuse, at(500), at(2_500)).in_shard(1)];
    plan
}

fn closed() -> RunPlan {
    let (think, until) = (Span::from_millis(200), at(5_000));
    let mut plan = RunPlan::new(ArrivalProcess::Closed { clients: 100, think, until }, caller());
    plan.faults = vec![Fault::new(Trouble::Failing(Ratio::from_percent(30)), at(0), until)];
    let amount = Ratio::from_percent(10);
    plan.fleet.ledger =
        LedgerModel::Deposit(Deposit { paying: Paying::Successes, amount, bucket: 5 });
    plan
}

fn hang() -> RunPlan {
    let mut plan = model_p(500);
    plan.faults = vec![
        Fault::new(Trouble::Hang, at(0), at(300)),
        Fault::new(Trouble::Silence, at(400), at(800)),
        Fault::new(Trouble::Slow(Ratio::from_percent(300)), at(0), at(900)),
    ];
    plan.callers = vec![caller().with_timeout(Span::from_millis(250))];
    plan.backend = Backend::UNLIMITED.serving_in(Span::from_millis(5));
    plan
}
