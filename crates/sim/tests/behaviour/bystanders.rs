//! Others who call the same backend: in its traffic, and in no figure of the callers.

use stagger_sim::{
    ArrivalProcess, Backend, Bystanders, Connections, Fault, Fleet, Heap, Hop, Played, RunPlan,
};
use stagger_sim::{Simulation, Trouble};

use crate::fixture::{at, every, fixed, ms, once};

/// Ten callers of up to two attempts, the first of which fails; with or without bystanders.
fn plan(others: Vec<Bystanders>) -> RunPlan {
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

fn play(plan: &RunPlan) -> Played {
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
        let alone = play(&change(plan(Vec::new())));
        let beside = play(&change(plan(vec![crowd()])));
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
    let queued = RunPlan { backend: slow, fleet: pool, hop: Hop::Fixed(ms(5)), ..plan(others) };
    let played = play(&queued);
    let instants = played.strip.attempts().count() as u64;
    assert!(instants <= 20 && played.attempts.total > 100, "{instants}");
}

#[test]
fn a_closed_bystander_calls_again_and_again() {
    let arrivals = ArrivalProcess::Closed { clients: 5, think: ms(100), until: at(20_000) };
    let others = vec![Bystanders { arrivals, caller: once() }];
    let played = play(&plan(others));
    // A cycle of 100 ms on average: 1000 calls, give or take six standard deviations of 32.
    assert!(played.bystanding.abs_diff(1_000) < 190, "{}", played.bystanding);
    assert_eq!(played.calls, 10);
}
