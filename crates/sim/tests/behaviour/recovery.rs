//! Verdicts on recovery: a server that is idle because its callers left is not well again.

use stagger_core::{Instant, Ratio, Span};
use stagger_sim::{
    ArrivalProcess, Backend, Fault, Law, MeasurementPlan, Recovery, RecoveryState, RunPlan,
    Schedule, Simulation, Trouble,
};

fn at(seconds: u64) -> Instant {
    Instant::ORIGIN + Span::from_secs(seconds)
}

/// 2000 callers together before a server of 100 a second, which they give 5 s for an answer.
fn crowd(law: Law) -> RecoveryState {
    let schedule = Schedule { base: Span::from_secs(1), cap: Span::from_secs(60), attempts: 50 };
    let caller = law.caller(&schedule).expect("a valid schedule");
    let plan = RunPlan {
        backend: Backend::of_workers(1, Span::from_millis(10), None),
        ..RunPlan::new(
            ArrivalProcess::Together { callers: 2_000 },
            caller.with_timeout(Span::from_secs(5)),
        )
    };
    Simulation::new().play(&plan, 1).recovery
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
    let plan = RunPlan {
        backend: Backend::of_workers(10, Span::from_millis(10), None),
        faults: vec![Fault::new(Trouble::Stall, at(10), at(15))],
        watch: MeasurementPlan {
            edge: at(15),
            recovery: Recovery::first_tries(),
            ..MeasurementPlan::default()
        },
        ..RunPlan::new(
            ArrivalProcess::poisson(700, at(300)),
            caller.with_timeout(Span::from_millis(500)),
        )
    };
    let verdict = Simulation::new().play(&plan, 1).recovery;
    let RecoveryState::Relapsed(seemed) = verdict else { panic!("{verdict:?}") };
    assert!((9.0..12.0).contains(&seemed.as_secs_f64()), "{seemed}");
}

#[test]
fn a_run_never_recovered_because_its_calls_ended_too_soon() {
    let caller = Law::NoRetry.caller(&Schedule::default()).expect("a valid schedule");
    let watched = |until| {
        let arrivals = ArrivalProcess::poisson(900, at(until));
        let plan = RunPlan {
            backend: Backend::of_workers(10, Span::from_millis(10), None),
            faults: vec![Fault::new(Trouble::Stall, at(10), at(15))],
            watch: MeasurementPlan {
                edge: at(15),
                recovery: Recovery::first_tries(),
                ..MeasurementPlan::default()
            },
            ..RunPlan::new(arrivals, caller.clone().with_timeout(Span::from_millis(500)))
        };
        Simulation::new().play(&plan, 1).recovery
    };
    assert_eq!(watched(40), RecoveryState::NotWithinWatch);
    assert!(watched(90).recovered().is_some());
}

#[test]
fn sparse_traffic_recovered_by_its_empty_buckets_and_not_by_its_calls() {
    // Two calls a second leave a third of the buckets of 500 ms empty.
    let caller = Law::NoRetry.caller(&Schedule::default()).expect("a valid schedule");
    let until_well = |trouble_ends| {
        let arrivals = ArrivalProcess::poisson(2, at(400));
        let plan = RunPlan {
            faults: vec![Fault::new(Trouble::Refuse, at(10), at(trouble_ends))],
            watch: MeasurementPlan {
                edge: at(15),
                recovery: Recovery::first_tries(),
                ..MeasurementPlan::default()
            },
            ..RunPlan::new(arrivals, caller.clone())
        };
        let verdict = Simulation::new().play(&plan, 1).recovery;
        let RecoveryState::Recovered(after) = verdict else { panic!("{verdict:?}") };
        after.as_secs_f64()
    };
    assert_eq!(until_well(15).to_bits(), 0.0_f64.to_bits());
    // Twenty calls are a bucket of 10 s, so the end is found to about that.
    let later = until_well(45);
    assert!((25.0..45.0).contains(&later), "{later}");
}

#[test]
fn a_run_never_recovered_from_a_trouble_that_did_not_end() {
    let caller = Law::Full.caller(&Schedule::default()).expect("a valid schedule");
    let one_in_twenty = Trouble::Failing(Ratio::from_percent(5));
    let state = |until, recovery| {
        let faults = vec![Fault::new(one_in_twenty, Instant::ORIGIN, until)];
        let watch = MeasurementPlan { edge: at(15), recovery, ..MeasurementPlan::default() };
        let plan = RunPlan::new(ArrivalProcess::poisson(100, at(90)), caller.clone());
        Simulation::new().play(&RunPlan { faults, watch, ..plan }, 1).recovery
    };
    for recovery in [Recovery::first_tries(), Recovery::Drained] {
        assert_eq!(state(Instant::FAR, recovery), RecoveryState::TroubleLasts);
        assert!(state(at(15), recovery).recovered().is_some());
    }
}

#[test]
fn a_peak_was_looked_for_from_the_origin_in_one_storm_and_after_the_outage_in_another() {
    // 100 calls at the origin meet an outage; one call a second comes after it.
    let caller = Law::NoRetry.caller(&Schedule::default()).expect("a valid schedule");
    let peaks = |peak_from| {
        let plan = RunPlan {
            arrivals: vec![
                ArrivalProcess::Together { callers: 100 },
                ArrivalProcess::Even { callers: 30, spacing: Span::from_secs(1) },
            ],
            faults: vec![Fault::new(Trouble::Slow(Ratio::ONE), at(0), at(15))],
            watch: MeasurementPlan { peak_from, ..MeasurementPlan::around(at(15)) },
            ..RunPlan::new(ArrivalProcess::Together { callers: 0 }, caller.clone())
        };
        let played = Simulation::new().play(&plan, 1);
        (played.attempts.peak, played.served.peak)
    };
    assert_eq!(peaks(None), (1, 1));
    assert_eq!(peaks(Some(Instant::ORIGIN)), (101, 101));
}
