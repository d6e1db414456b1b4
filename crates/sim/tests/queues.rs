//! The wheel against the heap, in whole runs: equal events in equal order.

mod plans;

use plans::at;
use stagger_core::Span;
use stagger_sim::{Arrivals, Backend, Fault, Heap, Law, Plan, Schedule, Trouble, World};

fn plan(law: Law, arrivals: Arrivals, service: Span) -> Plan {
    let caller = law.caller(&Schedule::default()).expect("a valid schedule");
    let mut plan = Plan::new(arrivals, caller);
    plan.backend = Backend::UNLIMITED.serving_in(service);
    plan.faults.push(Fault::new(Trouble::Refuse, at(100), at(1_500)));
    plan
}

#[test]
fn the_wheel_plays_every_law_as_the_heap_does() {
    let all_arrivals = [
        Arrivals::Together { callers: 3_000 },
        Arrivals::Even { callers: 3_000, spacing: Span::from_micros(700) },
        Arrivals::poisson(1_100, at(4_000)),
    ];
    let mut wheel = World::new();
    for arrivals in all_arrivals {
        for law in Law::ALL {
            for service in [Span::ZERO, Span::from_millis(5)] {
                let plan = plan(law, arrivals.clone(), service);
                let heap = World::on(Heap::default()).play(&plan, 7);
                assert_eq!(wheel.play(&plan, 7), heap, "{law} {arrivals:?} {service}");
                assert!(heap.calls >= 3_000);
            }
        }
    }
}

#[test]
fn the_wheel_plays_every_part_of_a_world_as_the_heap_does() {
    let mut wheel = World::new();
    for (name, plan) in plans::all() {
        let heap = World::on(Heap::default()).play(&plan, 11);
        assert_eq!(wheel.play(&plan, 11), heap, "{name}");
    }
}

#[test]
fn another_seed_is_another_run() {
    let plan = plans::stall();
    let digest = |seed| World::new().play(&plan, seed).digest;
    assert_eq!(digest(1), digest(1));
    assert_ne!(digest(1), digest(2));
}
