//! The invariants that hold under every fault, and a proof that each rule is needed for them.

use stagger_core::Span;
use stagger_testkit::Mix;

use super::machine::{Conditions, Fault, SimClock, SimMachine};
use super::node::Mutation;
use super::world::SimWorld;
use crate::leadership::{Fence, Shards, membership};

const LEASE: Span = Span::from_secs(10);
const HEARTBEAT: u64 = LEASE.as_nanos() / 10;

/// Ways of any length, clocks that are off by 4 %.
const WILD: Conditions = Conditions { drift: 40_000, slowest: 2_000 };
/// A store that answers, clocks that are off by 1 %.
const FAIR: Conditions = Conditions { drift: 10_000, slowest: 0 };

fn storm(seed: u64, mutation: Mutation, conditions: Conditions) -> Result<SimWorld, String> {
    let end = 20 * LEASE.as_nanos();
    let mut world = SimWorld::random(seed, LEASE, mutation, conditions, end);
    world.run(end, conditions.slowest == 0)?;
    Ok(world)
}

fn calm(count: usize) -> SimWorld {
    let slot = |_| SimMachine::new(SimClock { rate: 1_000_000, origin: 7 }, LEASE);
    let mut world =
        SimWorld::new(LEASE, Mutation::None, (0..count).map(slot).collect(), Mix::new(5));
    (0..count).for_each(|at| world.plan(0, at, Fault::Start));
    world
}

/// The number of shards of each running node.
fn spread(world: &SimWorld) -> Vec<usize> {
    let nodes = world.slots.iter().filter_map(|slot| slot.node.as_ref());
    let mut spread: Vec<usize> = nodes.map(|node| node.led().len()).collect();
    spread.sort_unstable();
    spread
}

fn even(count: usize) -> Vec<usize> {
    let fences: Vec<Fence> = (0..count as u64).map(Fence).collect();
    let mut spread: Vec<usize> =
        fences.iter().map(|fence| membership::share_of(*fence, &fences)).collect();
    spread.sort_unstable();
    spread
}

#[test]
fn no_two_nodes_ever_believe_that_they_lead_one_shard() {
    for seed in 0..300 {
        if let Err(what) = storm(seed, Mutation::None, WILD) {
            panic!("seed {seed}: {what}");
        }
    }
}

#[test]
fn the_shards_of_a_dead_node_have_a_leader_within_the_lease() {
    let mut longest = 0;
    for seed in 0..300 {
        match storm(seed, Mutation::None, FAIR) {
            Ok(world) => longest = longest.max(world.invariants.longest),
            Err(what) => panic!("seed {seed}: {what}"),
        }
    }
    assert!(longest > LEASE.as_nanos() / 2, "nothing died: {longest}");
}

#[test]
fn after_a_storm_work_is_even_and_nothing_moves_any_more() {
    for seed in 0..100 {
        let mut world = storm(seed, Mutation::None, WILD).expect("it is safe");
        let (now, lease) = (world.now, LEASE.as_nanos());
        for at in 0..world.slots.len() {
            world.plan(now, at, Fault::Slow(lease / 200, lease / 10));
            world.plan(now, at, Fault::Cut(0, false));
            world.slots[at].paused_until = now;
        }
        world.run(now + 5 * lease, false).expect("it is safe");
        let (count, moved) = (spread(&world).len(), world.store_model.moved);
        assert_eq!(spread(&world), even(count), "seed {seed}");
        world.run(now + 10 * lease, false).expect("it is safe");
        assert_eq!(world.store_model.moved, moved, "seed {seed}: something moves still");
    }
}

#[test]
fn each_rule_is_needed() {
    let found =
        |mutation, conditions| (0..300).any(|seed| storm(seed, mutation, conditions).is_err());
    assert!(found(Mutation::HoldsTooLong, WILD));
    assert!(found(Mutation::CountsFromTheAnswer, WILD));
    assert!(found(Mutation::KeepsAfterLostRelease, WILD));
    assert!(found(Mutation::HeartbeatsBlindly, FAIR));
}

#[test]
fn a_joining_or_leaving_node_changes_the_spread_within_a_few_heartbeats() {
    let mut world = calm(3);
    world.run(5 * HEARTBEAT, false).unwrap();
    assert_eq!(spread(&world), [85, 85, 86]);
    world.plan(5 * HEARTBEAT, 1, Fault::Leave);
    world.run(9 * HEARTBEAT, false).unwrap();
    assert!(world.slots[1].node.is_none(), "it is gone");
    assert_eq!(spread(&world), [128, 128]);
}

#[test]
fn one_that_dies_is_followed_within_seven_tenths_of_the_lease_and_a_few_calls() {
    for late in 0..10 {
        let mut world = calm(3);
        let dies = 10 * HEARTBEAT + late * HEARTBEAT / 10;
        world.plan(dies, 1, Fault::Kill);
        world.run(dies + LEASE.as_nanos() / 10 * 7 + HEARTBEAT / 2, false).unwrap();
        assert_eq!(spread(&world), [128, 128], "{late}");
    }
}

#[test]
fn a_store_outage_ends_no_membership() {
    let mut world = calm(4);
    world.run(10 * HEARTBEAT, false).unwrap();
    let moved = world.store_model.moved;
    (0..4).for_each(|at| world.plan(10 * HEARTBEAT, at, Fault::Cut(30 * HEARTBEAT, true)));
    world.run(60 * HEARTBEAT, false).unwrap();
    assert_eq!(world.store_model.moved, moved);
    let acted = world.slots.iter().map(|slot| slot.acts_on(world.now));
    assert_eq!(acted.fold(Shards::NONE, Shards::union), Shards::ALL);
}
