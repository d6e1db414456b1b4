//! Verdicts on recovery: a server that is idle because its callers left is not well again.

use stagger_core::{Instant, Span};
use stagger_sim::{
    Arrivals, Backend, Fault, Law, Plan, Recovery, RecoveryState, Schedule, Trouble, Watch, World,
};

fn at(seconds: u64) -> Instant {
    Instant::ORIGIN + Span::from_secs(seconds)
}

/// 2000 callers together before a server of 100 a second, which they give 5 s for an answer.
fn crowd(law: Law) -> RecoveryState {
    let schedule = Schedule { base: Span::from_secs(1), cap: Span::from_secs(60), attempts: 50 };
    let caller = law.caller(&schedule).expect("a valid schedule");
    let plan = Plan {
        backend: Backend::of_workers(1, Span::from_millis(10), None),
        ..Plan::new(Arrivals::Together { callers: 2_000 }, caller.with_timeout(Span::from_secs(5)))
    };
    World::new().play(&plan, 1).recovery
}

#[test]
fn a_storm_was_over_with_the_last_success_although_three_in_four_calls_failed_for_ever() {
    assert_eq!(crowd(Law::Fixed), RecoveryState::Never);
    assert!(crowd(Law::Full).recovered().is_some());
}

#[test]
fn a_run_had_recovered_although_the_next_wave_of_retries_brought_the_outage_back() {
    let schedule = Schedule { base: Span::from_secs(20), cap: Span::from_secs(2_000), attempts: 4 };
    let caller = Law::None.caller(&schedule).expect("a valid schedule");
    let plan = Plan {
        backend: Backend::of_workers(10, Span::from_millis(10), None),
        faults: vec![Fault::new(Trouble::Stall, at(10), at(15))],
        watch: Watch { edge: at(15), recovery: Recovery::first_tries(), ..Watch::default() },
        ..Plan::new(Arrivals::poisson(700, at(300)), caller.with_timeout(Span::from_millis(500)))
    };
    let verdict = World::new().play(&plan, 1).recovery;
    let RecoveryState::Relapsed(seemed) = verdict else { panic!("{verdict:?}") };
    assert!((9.0..12.0).contains(&seemed.as_secs_f64()), "{seemed}");
}

#[test]
fn a_run_never_recovered_because_its_calls_ended_too_soon() {
    let caller = Law::NoRetry.caller(&Schedule::default()).expect("a valid schedule");
    let watched = |until| {
        let arrivals = Arrivals::poisson(900, at(until));
        let plan = Plan {
            backend: Backend::of_workers(10, Span::from_millis(10), None),
            faults: vec![Fault::new(Trouble::Stall, at(10), at(15))],
            watch: Watch { edge: at(15), recovery: Recovery::first_tries(), ..Watch::default() },
            ..Plan::new(arrivals, caller.clone().with_timeout(Span::from_millis(500)))
        };
        World::new().play(&plan, 1).recovery
    };
    assert_eq!(watched(40), RecoveryState::NotWithinWatch);
    assert!(watched(90).recovered().is_some());
}
