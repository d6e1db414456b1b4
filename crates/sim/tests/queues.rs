//! The wheel against the heap, in whole runs: equal events in equal order.

use stagger_core::{Instant, Span};
use stagger_sim::{Arrivals, Crew, Heap, Law, Lockstep, Plan, Schedule, Server, Stretch, World};
use std::num::NonZeroUsize;

fn plan(law: Law, arrivals: Arrivals, service: Span) -> Plan {
    let (down, up) = (Instant::from_nanos(100_000_000), Instant::from_nanos(1_500_000_000));
    Plan {
        arrivals,
        server: Server::down(down, up).serving_in(service),
        policy: law.policy(&Schedule::default()).expect("a valid schedule"),
        edge: up,
        attempts_in: Stretch::ALWAYS,
        retries_in: Stretch::ALWAYS,
    }
}

#[test]
fn the_wheel_plays_every_run_as_the_heap_does() {
    let all_arrivals = [
        Arrivals::Together { callers: 3_000 },
        Arrivals::Even { callers: 3_000, spacing: Span::from_micros(700) },
        Arrivals::Poisson {
            gap: Span::from_micros(900),
            until: Instant::from_nanos(4_000_000_000),
        },
    ];
    let mut wheel = World::new();
    for arrivals in all_arrivals {
        for law in Law::ALL {
            for service in [Span::ZERO, Span::from_millis(5)] {
                let plan = plan(law, arrivals, service);
                let heap = World::on(Heap::default()).play(&plan, 7);
                assert_eq!(wheel.play(&plan, 7), heap, "{law} {arrivals:?} {service}");
                assert!(heap.calls >= 3_000);
            }
        }
    }
}

#[test]
fn another_seed_is_another_run() {
    let plan =
        plan(Law::Full, Arrivals::Even { callers: 500, spacing: Span::from_millis(1) }, Span::ZERO);
    let digest = |seed| World::new().play(&plan, seed).digest;
    assert_eq!(digest(1), digest(1));
    assert_ne!(digest(1), digest(2));
}

#[test]
fn figures_do_not_depend_on_the_number_of_threads() {
    let storm = Lockstep { runs: 31, callers: 200, ..Lockstep::default() };
    let report = |threads| {
        let threads = NonZeroUsize::new(threads).expect("at least one");
        storm.run(&Crew::new(threads)).expect("a valid schedule")
    };
    assert_eq!(report(1), report(2));
    assert_eq!(report(1), report(7));
}

#[test]
fn a_law_more_moves_nobody_elses_numbers() {
    let run = |laws: &[Law]| {
        let storm = Lockstep { runs: 5, laws: laws.to_vec(), ..Lockstep::default() };
        storm.run(&Crew::single()).expect("a valid schedule").rows
    };
    assert_eq!(run(&[Law::Full])[0], run(&[Law::Equal, Law::Full])[1]);
}
