//! Connections, the network, layers, copies and breakers.

use stagger_core::breaker::BreakerPlan;
use stagger_core::budget::BudgetPlan;
use stagger_core::hedge::HedgePlan;
use stagger_core::{Instant, Span};
use stagger_sim::{
    ArrivalProcess, Backend, CallerLayer, Connections, Fault, Fleet, Hop, Played, RunPlan,
    ServerRateLimit, Trouble, Workers,
};

use crate::fixture::{assert_longest, at, every, fixed, ms, once, play, policy, together};

fn pooled(processes: u32, count: u32, plan: RunPlan) -> RunPlan {
    let connections = Some(Connections { count });
    let fleet = Fleet { processes, connections, ..Fleet::default() };
    RunPlan { fleet, backend: Backend::UNLIMITED.serving_in(ms(100)), ..plan }
}

#[test]
fn attempts_wait_for_a_connection_of_their_process() {
    assert_eq!(play(&pooled(1, 1, together(3, once()))).length, ms(300));
    assert_eq!(play(&pooled(2, 1, together(4, once()))).length, ms(200));
    assert_eq!(play(&pooled(1, 2, together(4, once()))).length, ms(200));
}

#[test]
fn a_timeout_runs_while_an_attempt_waits_for_a_connection() {
    let played = play(&pooled(1, 1, together(3, once().with_timeout(ms(150)))));
    assert_eq!((played.calls, played.succeeded), (3, 1));
    assert_longest(&played, 100);
}

#[test]
fn an_attempt_that_failed_gives_its_connection_to_the_next() {
    let refused = Fault::new(Trouble::Refuse, at(0), at(10));
    let plan = RunPlan { faults: vec![refused], ..pooled(1, 1, together(20, fixed(10, 2))) };
    let played = play(&plan);
    assert_eq!((played.succeeded, played.attempts.total), (20, 40));
    assert_eq!(played.length, ms(10 + 20 * 100));
}

#[test]
fn a_closed_client_gives_its_connection_back_to_its_own_process() {
    let clients = ArrivalProcess::Closed { clients: 3, think: ms(10), until: at(20_000) };
    let played = play(&pooled(3, 1, RunPlan::new(clients, once())));
    // A cycle of 110 ms, as if each had the backend for itself.
    assert!(played.calls.abs_diff(545) < 20, "{}", played.calls);
    assert_longest(&played, 100);
}

#[test]
fn the_way_there_and_back_takes_its_time() {
    let hop = Hop::Fixed(ms(20));
    let backend = Backend::UNLIMITED.serving_in(ms(5));
    let played = play(&RunPlan { hop, backend, ..together(3, once()) });
    assert_eq!((played.succeeded, played.length), (3, ms(45)));
    assert_longest(&played, 45);
    // A refusal has to come back too: attempts at 0 and 140 ms.
    let refused = Fault::new(Trouble::Refuse, at(0), at(100));
    let plan = RunPlan { hop, faults: vec![refused], ..together(3, fixed(100, 2)) };
    assert_longest(&play(&plan), 180);
}

#[test]
fn an_exponential_way_has_its_mean_twice() {
    let played = play(&RunPlan { hop: Hop::Exponential(ms(10)), ..together(50_000, once()) });
    // The sum of two of them has its median at 1.678 means.
    let median = played.latency.quantile(0.5).expect("all succeeded").as_secs_f64();
    assert!((median / 0.01678 - 1.0).abs() < 0.05, "{median}");
}

fn layered(outer: &CallerLayer, middle: &CallerLayer, inner: &CallerLayer, calls: u32) -> RunPlan {
    let callers = vec![outer.clone(), middle.clone(), inner.clone()];
    RunPlan { callers, ..every(1_000, calls, outer.clone()) }
}

fn dead() -> Vec<Fault> {
    vec![Fault::new(Trouble::Refuse, Instant::ORIGIN, Instant::FAR)]
}

#[test]
fn layers_multiply_and_the_guard_keeps_them_from_it() {
    let (thrice, single) = (fixed(10, 3), once());
    let attempts = |plan: RunPlan| play(&RunPlan { faults: dead(), ..plan }).attempts.total;
    assert_eq!(attempts(layered(&thrice, &thrice, &thrice, 10)), 270);
    assert_eq!(attempts(layered(&thrice, &single, &single, 10)), 30);
    assert_eq!(attempts(layered(&single, &single, &thrice, 10)), 30);
    let healthy = play(&layered(&thrice, &thrice, &thrice, 10));
    assert_eq!((healthy.succeeded, healthy.attempts.total, healthy.finished), (10, 10, 10));
}

#[test]
fn layers_share_the_connections_of_the_innermost_alone() {
    let thrice = fixed(10, 3);
    for faults in [Vec::new(), dead()] {
        let plan = RunPlan { faults, ..pooled(3, 1, layered(&thrice, &thrice, &thrice, 20)) };
        let healthy = plan.faults.is_empty();
        let played = play(&plan);
        let expected = if healthy { (20, 20) } else { (0, 20 * 27) };
        assert_eq!((played.succeeded, played.attempts.total), expected);
    }
}

#[test]
fn every_layer_calls_the_shard_of_the_outermost_call() {
    let thrice = fixed(10, 3);
    let fault = Fault::new(Trouble::Refuse, Instant::ORIGIN, Instant::FAR).in_shard(0);
    let backend = Backend { shards: 2, ..Backend::UNLIMITED };
    let plan = RunPlan { backend, faults: vec![fault], ..layered(&thrice, &thrice, &thrice, 200) };
    let played = play(&plan);
    let failed = played.calls - played.succeeded;
    assert!(failed > 60 && failed < 140, "{failed}");
    assert_eq!(played.attempts.total, played.succeeded + 27 * failed);
}

#[test]
fn work_for_an_outermost_caller_that_has_gone_is_wasted() {
    let backend = Backend::UNLIMITED.serving_in(ms(100));
    let plan = layered(&once().with_timeout(ms(50)), &once(), &once(), 4);
    let played = play(&RunPlan { backend, ..plan });
    assert_eq!((played.succeeded, played.finished, played.wasted.total), (0, 4, 4));
}

fn hedging(copies: u32) -> CallerLayer {
    let plan = HedgePlan::fixed(ms(50), copies).expect("valid");
    CallerLayer::new(policy(100, 5).to_builder().hedge(plan).build().expect("valid"))
}

fn silent(until: u64, caller: CallerLayer) -> Played {
    let fault = Fault::new(Trouble::Silence, at(0), at(until));
    play(&RunPlan { faults: vec![fault], ..together(1, caller) })
}

#[test]
fn a_copy_goes_out_when_no_answer_comes() {
    let played = silent(10, hedging(2));
    assert_eq!((played.succeeded, played.attempts.total, played.retries.total), (1, 2, 1));
    assert_longest(&played, 50);
    let played = silent(60, hedging(3));
    assert_eq!((played.succeeded, played.attempts.total), (1, 3));
    assert_longest(&played, 100);
    assert_eq!(silent(60, hedging(2)).succeeded, 0, "both copies are lost");
}

#[test]
fn a_copy_needs_a_permit() {
    let caller = hedging(2);
    let policy = caller.policy.to_builder().budget(BudgetPlan::None).build().expect("valid");
    let played = silent(10, CallerLayer::new(policy));
    assert_eq!((played.succeeded, played.attempts.total), (0, 1));
}

#[test]
fn no_copy_is_sent_of_an_attempt_that_has_failed() {
    // Refused at 0, again at 100 ms: nothing is under way at 50 ms.
    let fault = Fault::new(Trouble::Refuse, at(0), at(10));
    let played = play(&RunPlan { faults: vec![fault], ..together(1, hedging(2)) });
    assert_eq!((played.succeeded, played.attempts.buckets), (1, vec![1, 0, 1]));
    assert!(played.series.levels.iter().all(|level| level.1 <= 1), "one caller waits once");
    // The same behind a queue that is full.
    let backend = Backend::of_workers(1, ms(20), Some(0));
    let played = play(&RunPlan { backend, ..together(2, hedging(2)) });
    assert_eq!((played.succeeded, played.attempts.buckets), (2, vec![2, 0, 1]));
}

#[test]
fn the_loser_of_two_copies_is_work_for_nobody() {
    let backend = Backend::UNLIMITED.serving_in(ms(70));
    let played = play(&RunPlan { backend, ..together(1, hedging(2)) });
    assert_eq!((played.succeeded, played.attempts.total), (1, 2));
    assert_eq!((played.finished, played.wasted.total, played.length), (2, 1, ms(120)));
}

#[test]
fn a_measured_copy_goes_out_after_what_calls_usually_take() {
    let plan = HedgePlan::quantile(stagger_core::Ratio::from_percent(95), ms(1_000), 2);
    let policy = policy(100, 2).to_builder().hedge(plan.expect("valid")).build().expect("valid");
    let fault = Fault::new(Trouble::Silence, at(9_995), at(10_005));
    let plan = RunPlan {
        backend: Backend::UNLIMITED.serving_in(ms(20)),
        faults: vec![fault],
        ..every(50, 300, CallerLayer::new(policy))
    };
    let played = play(&plan);
    assert_eq!((played.succeeded, played.retries.total), (300, 1));
    // Its copy after the p95 of 20 ms, up to an eighth later, and 20 ms more.
    let longest = played.latency.quantile(1.0).expect("all succeeded");
    assert!(longest >= ms(40) && longest <= ms(44), "{longest}");
}

#[test]
fn an_open_breaker_keeps_attempts_from_the_backend() {
    let breaker = BreakerPlan::builder().consecutive(3).build().expect("valid");
    let broken = policy(10, 1).to_builder().breaker(breaker).build().expect("valid");
    let calls = |processes| {
        let fleet = Fleet { processes, ..Fleet::default() };
        let plan = RunPlan { fleet, faults: dead(), ..every(10, 400, CallerLayer::new(broken)) };
        let played = play(&plan);
        assert_eq!(played.succeeded, 0);
        played.attempts.total
    };
    // Open for 5 s at least, and the calls are over after 4.
    assert_eq!(calls(1), 3);
    assert_eq!(calls(4), 12);
}

#[test]
fn a_breaker_closes_again_after_a_good_probe() {
    let breaker = BreakerPlan::builder().consecutive(3).open_time(ms(1_000)).build();
    let policy = policy(10, 1).to_builder().breaker(breaker.expect("valid")).build();
    let fault = Fault::new(Trouble::Refuse, at(0), at(100));
    let caller = CallerLayer::new(policy.expect("valid"));
    let played = play(&RunPlan { faults: vec![fault], ..every(10, 400, caller) });
    // Three failures by 20 ms; open until 1.02 to 1.52 s, then all that come until 3.99 s.
    assert!((248..=298).contains(&played.succeeded), "{}", played.succeeded);
    assert_eq!(played.attempts.total, played.succeeded + 3);
}

#[test]
fn nobody_is_forgotten_in_a_long_and_mixed_run() {
    // Everything at once; who is not silenced ends, so with timeouts every call does.
    let hedge = HedgePlan::fixed(ms(30), 3).expect("valid");
    let policy = policy(20, 4).to_builder().hedge(hedge).attempt_timeout(ms(80)).build();
    let caller = CallerLayer::new(policy.expect("valid"));
    let fault = |trouble, from, until| Fault::new(trouble, at(from), at(until));
    let plan = RunPlan {
        hop: Hop::Exponential(ms(3)),
        fleet: Fleet {
            processes: 3,
            connections: Some(Connections { count: 9 }),
            ..Fleet::default()
        },
        backend: Backend {
            workers: Some(Workers::new(2, Some(20))),
            limit: Some(ServerRateLimit::Tokens { burst: 50, every: ms(2) }),
            shards: 2,
            ..Backend::UNLIMITED.serving_in(ms(5))
        },
        faults: vec![
            fault(Trouble::Silence, 1_000, 1_300),
            fault(Trouble::Stall, 2_000, 2_400),
            fault(Trouble::Refuse, 3_000, 3_100),
            fault(Trouble::Hang, 4_000, 4_200),
        ],
        ..every(4, 2_000, caller)
    };
    let played = play(&plan);
    assert_eq!(played.calls, 2_000);
    assert!(played.succeeded > 1_000 && played.succeeded < 2_000, "{}", played.succeeded);
    let last = played.series.levels.last().copied();
    assert_eq!(last.map(|level| level.1), Some(0), "nobody still waits to retry");
    assert!(played.length < Span::from_secs(20));
}
