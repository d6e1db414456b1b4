//! The wheel against the heap, in whole runs: equal events in equal order.

mod plans;

use std::num::NonZeroUsize;

use plans::at;
use stagger_core::Span;
use stagger_sim::{
    ArrivalProcess, Backend, Fault, Heap, Law, Named, RunPlan, Scenario, Schedule, Simulation,
    StormOptions, ThreadPool, Trouble,
};

fn plan(law: Law, arrivals: ArrivalProcess, service: Span) -> RunPlan {
    let caller = law.caller(&Schedule::default()).expect("a valid schedule");
    let mut plan = RunPlan::new(arrivals, caller);
    plan.backend = Backend::UNLIMITED.serving_in(service);
    plan.faults.push(Fault::new(Trouble::Refuse, at(100), at(1_500)));
    plan
}

#[test]
fn the_wheel_plays_every_law_as_the_heap_does() {
    let all_arrivals = [
        ArrivalProcess::Together { callers: 3_000 },
        ArrivalProcess::Even { callers: 3_000, spacing: Span::from_micros(700) },
        ArrivalProcess::poisson(1_100, at(4_000)),
    ];
    let mut wheel = Simulation::new();
    for arrivals in all_arrivals {
        for law in Law::ALL {
            for service in [Span::ZERO, Span::from_millis(5)] {
                let plan = plan(law, arrivals.clone(), service);
                let heap = Simulation::on(Heap::default()).play(&plan, 7);
                assert_eq!(wheel.play(&plan, 7), heap, "{law} {arrivals:?} {service}");
                assert!(heap.calls >= 3_000);
            }
        }
    }
}

#[test]
fn the_wheel_plays_every_part_of_a_simulation_as_the_heap_does() {
    let mut wheel = Simulation::new();
    for (name, plan) in plans::all() {
        let heap = Simulation::on(Heap::default()).play(&plan, 11);
        assert_eq!(wheel.play(&plan, 11), heap, "{name}");
    }
}

#[test]
fn another_seed_is_another_run() {
    let plan = plans::stall();
    let digest = |seed| Simulation::new().play(&plan, seed).digest;
    assert_eq!(digest(1), digest(1));
    assert_ne!(digest(1), digest(2));
}

#[test]
fn figures_do_not_depend_on_the_number_of_threads() {
    let storm = lockstep(vec![Law::Full, Law::Equal], 31);
    let report = |threads| storm.run(&ThreadPool::new(NonZeroUsize::new(threads).expect("some")));
    assert_eq!(report(1), report(2));
    assert_eq!(report(1), report(7));
}

#[test]
fn a_law_more_moves_nobody_elses_numbers() {
    let row = |laws: Vec<Law>| {
        let report = lockstep(laws, 5).run(&ThreadPool::single());
        let rows = report.cases[0].rows.iter();
        rows.filter(|row| row.name == "full").cloned().next_back().expect("it was asked for")
    };
    assert_eq!(row(vec![Law::Full]), row(vec![Law::Equal, Law::Full]));
}

fn lockstep(laws: Vec<Law>, runs: u32) -> Scenario {
    let options =
        StormOptions { laws, runs: Some(runs), callers: Some(200), ..StormOptions::default() };
    Named::find("L3").expect("it ships").scenario(&options).expect("a valid schedule")
}
