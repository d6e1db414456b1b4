//! Every kind of trouble.

use std::num::NonZeroUsize;

use stagger_core::breaker::BreakerPlan;
use stagger_core::{Instant, Ratio, Span};
use stagger_sim::{
    Backend, Fault, Hop, Named, RunPlan, StormOptions, ThreadPool, Trouble, Workers,
};

use crate::fixture::{assert_longest, at, every, fixed, ms, once, play, policy, together};

fn with(plan: RunPlan, trouble: Trouble, from: u64, until: u64) -> RunPlan {
    RunPlan { faults: vec![Fault::new(trouble, at(from), at(until))], ..plan }
}

#[test]
fn an_outage_refuses_its_first_instant_and_not_its_last() {
    // Attempts at 30, 40 and 50 ms of 0, 10, ..., 90 ms fail.
    let played = play(&with(every(10, 10, once()), Trouble::Refuse, 30, 60));
    assert_eq!((played.calls, played.succeeded, played.attempts.total), (10, 7, 10));
}

#[test]
fn work_that_was_started_before_an_outage_is_finished() {
    let slow = RunPlan { backend: Backend::UNLIMITED.serving_in(ms(50)), ..every(20, 2, once()) };
    let played = play(&with(slow, Trouble::Refuse, 10, 100));
    assert_eq!((played.succeeded, played.served.buckets.as_slice()), (1, &[0, 1][..]));
}

#[test]
fn a_refusal_with_a_hint_is_obeyed() {
    let played = play(&with(together(3, fixed(10, 2)), Trouble::RefuseFor(ms(70)), 0, 50));
    assert_eq!((played.succeeded, &played.attempts.buckets[..]), (3, &[3, 3][..]));
    assert_longest(&played, 70);
}

#[test]
fn a_refusal_with_a_hint_is_a_throttle_and_opens_no_breaker() {
    let breaker = BreakerPlan::builder().consecutive(1).build().expect("valid");
    let broken = policy(500, 2).to_builder().breaker(breaker).build().expect("valid");
    let attempts = |trouble| {
        let plan = every(10, 5, stagger_sim::CallerLayer::new(broken));
        play(&with(plan, trouble, 0, 10_000)).attempts.total
    };
    assert_eq!(attempts(Trouble::Refuse), 1, "the first failure opens it");
    assert_eq!(attempts(Trouble::RefuseFor(ms(500))), 10);
}

#[test]
fn a_hung_attempt_is_heard_of_when_the_trouble_is_over() {
    let played = play(&with(together(1, fixed(10, 2)), Trouble::Hang, 0, 100));
    assert_eq!((played.succeeded, played.attempts.total), (1, 2));
    assert_longest(&played, 110);
    let for_ever = Fault::new(Trouble::Hang, Instant::ORIGIN, Instant::FAR);
    let played = play(&RunPlan { faults: vec![for_ever], ..together(1, fixed(10, 2)) });
    assert_eq!((played.calls, played.succeeded, played.attempts.total), (1, 0, 1));
}

#[test]
fn silence_is_noticed_by_a_timeout_or_never() {
    let plan = together(2, fixed(10, 2).with_timeout(ms(50)));
    let played = play(&with(plan, Trouble::Silence, 0, 40));
    assert_eq!((played.succeeded, played.attempts.total), (2, 4));
    assert_longest(&played, 60);
    let played = play(&with(together(2, fixed(10, 2)), Trouble::Silence, 0, 40));
    assert_eq!((played.calls, played.succeeded, played.attempts.total), (2, 0, 2));
}

#[test]
fn a_stall_keeps_what_comes_and_finishes_what_was_started() {
    let backend = Backend { workers: Some(Workers::new(1, None)), ..Backend::UNLIMITED };
    let backend = backend.serving_in(ms(50));
    // At 0: done at 50. At 20 and 40: started at 100 and 150.
    let plan = RunPlan { backend, ..every(20, 3, once()) };
    let played = play(&with(plan.clone(), Trouble::Stall, 10, 100));
    assert_eq!((played.succeeded, played.length), (3, ms(200)));
    assert_eq!(played.served.buckets, [0, 1, 0, 1, 1]);
    // A second stall that begins before the first is over.
    let stall = |from, until| Fault::new(Trouble::Stall, at(from), at(until));
    let played = play(&RunPlan { faults: vec![stall(10, 100), stall(90, 300)], ..plan });
    assert_eq!(played.length, ms(400));
}

#[test]
fn a_stall_holds_a_backend_without_workers_too() {
    let plan = RunPlan { backend: Backend::UNLIMITED.serving_in(ms(5)), ..every(20, 3, once()) };
    let played = play(&with(plan, Trouble::Stall, 10, 100));
    assert_eq!((played.succeeded, played.length), (3, ms(105)));
    let for_ever = Fault::new(Trouble::Stall, Instant::ORIGIN, Instant::FAR);
    let played = play(&RunPlan { faults: vec![for_ever], ..together(3, once()) });
    assert_eq!((played.calls, played.succeeded), (3, 0));
}

#[test]
fn so_many_attempts_fail_as_the_plan_says() {
    let calls = 100_000;
    let played =
        play(&with(together(calls, once()), Trouble::Failing(Ratio::from_percent(30)), 0, 1));
    // 70 000, give or take six standard deviations of 145.
    assert!(played.succeeded.abs_diff(70_000) < 870, "{}", played.succeeded);
    // Three attempts fail independently: 97.3 %.
    let thrice =
        with(together(calls, fixed(1, 3)), Trouble::Failing(Ratio::from_percent(30)), 0, 9);
    let succeeded = play(&thrice).succeeded;
    assert!(succeeded.abs_diff(97_300) < 310, "{succeeded}");
}

#[test]
fn slow_work_takes_as_many_times_as_long() {
    let backend = Backend::UNLIMITED.serving_in(ms(10));
    let slow = Trouble::Slow(Ratio::from_percent(300));
    let played = play(&with(RunPlan { backend, ..every(100, 2, once()) }, slow, 0, 50));
    assert_eq!((played.succeeded, played.length), (2, ms(110)));
    assert_longest(&played, 30);
}

#[test]
fn the_trouble_of_one_shard_is_nobody_elses() {
    let calls = 100_000;
    let shards = 16;
    let fault = Fault::new(Trouble::Refuse, at(0), Instant::FAR).in_shard(5);
    let plan = RunPlan {
        backend: Backend { shards, ..Backend::UNLIMITED },
        faults: vec![fault],
        ..together(calls, fixed(10, 4))
    };
    let played = play(&plan);
    let failed = played.calls - played.succeeded;
    // 6250, give or take six standard deviations of 77; a call stays with its shard.
    assert!(failed.abs_diff(6_250) < 460, "{failed}");
    assert_eq!(played.retries.total, 3 * failed);
}

#[test]
fn trouble_that_never_comes_changes_nothing() {
    let plan = every(10, 10, fixed(10, 3));
    let far = Span::from_secs(100).as_nanos() / 1_000_000;
    let troubled = with(plan.clone(), Trouble::Refuse, far, far + 1);
    assert_eq!(play(&plan), play(&troubled));
}

#[test]
fn retries_of_refused_connections_were_free_under_the_default_policy() {
    let crash = Named::find("crash").expect("it ships");
    let options = StormOptions { runs: Some(1), ..StormOptions::default() };
    let scenario = crash.scenario(&options).expect("the options are valid");
    let report = scenario.run(&ThreadPool::new(NonZeroUsize::MIN));
    let retries = |name: &str| {
        let row = report.cases[0].rows.iter().find(|row| row.name == name).expect("it plays");
        row.attempts.mean - row.calls
    };
    // 7000 calls meet the closed port, and 63 000 come in all.
    assert!(retries("default, no budget") > 13_000.0, "{}", retries("default, no budget"));
    assert!(retries("default policy") < 1_500.0, "{}", retries("default policy"));
}

#[test]
fn a_closed_port_refuses_until_the_restart_however_long_the_way_to_it_is() {
    // Attempts at 0, 20 and 40 ms; or at 5 and 35 ms, told of 5 ms later.
    for (hop, attempts) in [(Hop::None, 9), (Hop::Fixed(ms(5)), 6)] {
        let plan = RunPlan { hop, ..together(3, fixed(20, 3)) };
        let played = play(&with(plan, Trouble::PortClosed, 0, 30));
        assert_eq!((played.succeeded, played.attempts.total), (3, attempts), "{hop:?}");
    }
}

#[test]
fn a_closed_port_opens_breakers() {
    let breaker = BreakerPlan::builder().consecutive(1).build().expect("valid");
    let broken = policy(500, 2).to_builder().breaker(breaker).build().expect("valid");
    let plan = every(10, 5, stagger_sim::CallerLayer::new(broken));
    assert_eq!(play(&with(plan, Trouble::PortClosed, 0, 10_000)).attempts.total, 1);
}
