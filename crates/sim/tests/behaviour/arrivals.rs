//! Every way to arrive, and others who call the same backend: in its traffic, and in no figure of the callers.

use stagger_core::{Instant, Ratio, Span};
use stagger_sim::{
    ArrivalProcess, Backend, Bystanders, Connections, Fault, Fleet, Heap, Hop, Played, Ramp,
    RunPlan, Simulation, Trouble, Workers,
};

use crate::fixture::{at, every, fixed, ms, once, play};

fn times(arrivals: &ArrivalProcess) -> Vec<Instant> {
    let times: Vec<Instant> = arrivals.times(3, 0).collect();
    assert!(times.is_sorted());
    let played = play(&RunPlan::new(arrivals.clone(), once()));
    assert!(played.calls >= times.len() as u64 && played.succeeded == played.calls);
    times
}

#[test]
fn together_is_at_the_origin_and_even_begins_there() {
    assert_eq!(times(&ArrivalProcess::Together { callers: 3 }), [at(0); 3]);
    assert_eq!(times(&ArrivalProcess::Even { callers: 3, spacing: ms(2) }), [at(0), at(2), at(4)]);
    assert_eq!(times(&ArrivalProcess::Even { callers: 0, spacing: ms(2) }), []);
}

#[test]
fn a_poisson_process_has_as_much_variance_as_mean() {
    let all = times(&ArrivalProcess::poisson(100, at(1_000_000)));
    assert!(all.len().abs_diff(100_000) < 6 * 317, "{}", all.len());
    let mut seconds = vec![0_f64; 1_000];
    for time in &all {
        seconds[(time.as_nanos() / 1_000_000_000) as usize] += 1.0;
    }
    let mean = seconds.iter().sum::<f64>() / 1e3;
    let variance = seconds.iter().map(|n| (n - mean) * (n - mean)).sum::<f64>() / 1e3;
    // The variance of 1000 seconds is known to sqrt(2 / 1000) = 4.5 %.
    assert!((variance / mean - 1.0).abs() < 0.2, "{variance} {mean}");
}

#[test]
fn who_is_spread_is_within_the_stretch() {
    let all = times(&ArrivalProcess::Spread { callers: 10_000, from: at(500), over: ms(1_000) });
    assert!(all.iter().all(|&time| time >= at(500) && time <= at(1_500)));
    let early = all.iter().filter(|&&time| time < at(750)).count();
    assert!(early.abs_diff(2_500) < 260, "{early}");
}

#[test]
fn closed_clients_wait_for_the_end_of_their_call() {
    let closed = ArrivalProcess::Closed { clients: 2, think: ms(100), until: at(100_000) };
    // A cycle of 100 ms on average: 2000 calls, give or take six standard deviations of 45.
    let calls = play(&RunPlan::new(closed.clone(), once())).calls;
    assert!(calls.abs_diff(2_000) < 270, "{calls}");
    // With 100 ms of work a cycle has 200 ms; its standard deviation is still that of thinking.
    let backend = Backend::UNLIMITED.serving_in(ms(100));
    let calls = play(&RunPlan { backend, ..RunPlan::new(closed, once()) }).calls;
    assert!(calls.abs_diff(1_000) < 100, "{calls}");
}

#[test]
fn a_closed_client_never_has_two_calls() {
    let closed = ArrivalProcess::Closed { clients: 1, think: ms(1), until: at(10_000) };
    let backend = Backend { workers: Some(Workers::new(1, Some(0))), ..Backend::UNLIMITED };
    let played = play(&RunPlan {
        backend: backend.serving_in(ms(20)),
        fleet: Fleet { processes: 3, ..Fleet::default() },
        ..RunPlan::new(closed, once())
    });
    assert!(played.calls > 300);
    assert_eq!(played.succeeded, played.calls, "the worker is never taken");
}

#[test]
fn recorded_instants_are_played_as_they_are() {
    let recorded = ArrivalProcess::Recorded([1, 5, 5, 70].map(at).into());
    assert_eq!(times(&recorded), [at(1), at(5), at(5), at(70)]);
    let played = play(&RunPlan::new(recorded, once()));
    assert_eq!(played.attempts.buckets, [3, 1]);
}

#[test]
fn a_ramp_begins_slowly_and_ends_with_everybody() {
    let ramp = Ramp {
        callers: 2_000,
        from: Ratio::from_percent(10),
        rate: 100,
        over: Span::from_secs(10),
        most: Some(150),
    };
    let all = times(&ArrivalProcess::Ramped(ramp));
    assert_eq!((all.len(), all[0]), (2_000, at(0)));
    let until = |secs: u64| all.iter().filter(|&&time| time < at(1_000 * secs)).count();
    // 55 a second for ten seconds, then 100 to 150 for five, then 150 for the rest.
    assert!(until(10).abs_diff(550) < 10 && until(15).abs_diff(1_175) < 15, "{}", until(15));
    let gap = all[1_999] - all[1_998];
    assert_eq!(gap, Span::from_nanos(6_666_667));
}

#[test]
fn several_sources_run_side_by_side() {
    let even = |spacing| ArrivalProcess::Even { callers: 10, spacing: ms(spacing) };
    let mut plan = RunPlan::new(even(10), once());
    plan.arrivals.push(even(20));
    let played = play(&plan);
    assert_eq!((played.calls, played.attempts.buckets), (20, vec![8, 7, 3, 2]));
}

/// Ten callers of up to two attempts, the first of which fails; with or without bystanders.
fn with_others(others: Vec<Bystanders>) -> RunPlan {
    RunPlan {
        faults: vec![Fault::new(Trouble::Refuse, at(0), at(150))],
        bystanders: others,
        ..every(10, 10, fixed(200, 2))
    }
}

fn crowd() -> Bystanders {
    let arrivals = ArrivalProcess::Even { callers: 500, spacing: ms(1) };
    Bystanders { arrivals, caller: fixed(50, 3) }
}

fn play_all(plan: &RunPlan) -> Played {
    let played = Simulation::new().play(plan, 7);
    assert_eq!(played, Simulation::on(Heap::default()).play(plan, 7), "the queues disagree");
    played
}

#[test]
fn bystanders_stand_in_no_strip() {
    let slow = Backend::UNLIMITED.serving_in(ms(1));
    let pool = Fleet { connections: Some(Connections { count: 1 }), ..Fleet::default() };
    let plans: [fn(RunPlan) -> RunPlan; 3] = [
        |plan| plan,
        |plan| RunPlan { hop: Hop::Fixed(ms(1)), ..plan },
        |plan| RunPlan { hop: Hop::Fixed(ms(30)), ..plan },
    ];
    for change in plans {
        let alone = play_all(&change(with_others(Vec::new())));
        let beside = play_all(&change(with_others(vec![crowd()])));
        assert_eq!((alone.calls, beside.calls), (10, 10));
        let attempts = |played: &Played| played.strip.attempts().count() as u64;
        assert_eq!(attempts(&alone), alone.attempts.total);
        assert_eq!(attempts(&beside), alone.attempts.total);
        assert!(beside.bystanding > 500, "they retry too: {}", beside.bystanding);
        assert_eq!(beside.attempts.total, alone.attempts.total + beside.bystanding);
    }
    // Also where an attempt waits for a connection of its process, and comes after its caller left.
    let impatient = crowd().caller.with_timeout(ms(2));
    let others = vec![Bystanders { caller: impatient, ..crowd() }];
    let queued =
        RunPlan { backend: slow, fleet: pool, hop: Hop::Fixed(ms(5)), ..with_others(others) };
    let played = play_all(&queued);
    let instants = played.strip.attempts().count() as u64;
    assert!(instants <= 20 && played.attempts.total > 100, "{instants}");
}

#[test]
fn a_closed_bystander_calls_again_and_again() {
    let arrivals = ArrivalProcess::Closed { clients: 5, think: ms(100), until: at(20_000) };
    let others = vec![Bystanders { arrivals, caller: once() }];
    let played = play_all(&with_others(others));
    // A cycle of 100 ms on average: 1000 calls, give or take six standard deviations of 32.
    assert!(played.bystanding.abs_diff(1_000) < 190, "{}", played.bystanding);
    assert_eq!(played.calls, 10);
}
