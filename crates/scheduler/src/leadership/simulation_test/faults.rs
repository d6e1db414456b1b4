//! Random schedules of the faults that the simulation injects into nodes.

use stagger_core::Span;
use stagger_testkit::Mix;

use super::machine::{Fault, SimClock, SimMachine};
use super::node::Mutation;
use super::world::SimWorld;

/// The severity of the faults.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conditions {
    /// By how many millionths a clock's rate may be wrong.
    pub(super) drift: u64,
    /// The longest way to the store or back, in thousandths of a lease, once a node was slowed.
    pub(super) slowest: u64,
}

impl SimWorld {
    /// A world in which anything may befall its nodes until `end`.
    pub(super) fn random(
        seed: u64,
        lease: Span,
        mutation: Mutation,
        conditions: Conditions,
        end: u64,
    ) -> Self {
        let mut world = Self::new(lease, mutation, Vec::new(), Mix::new(seed));
        let count = 2 + world.up_to(4);
        for _ in 0..count {
            let drift = world.up_to(2 * conditions.drift);
            let rate = 1_000_000 - conditions.drift + drift;
            let origin = world.up_to(lease.as_nanos() * 1_000);
            world.slots.push(SimMachine::new(SimClock { rate, origin }, lease));
        }
        for slot in 0..world.slots.len() {
            let time = world.up_to(lease.as_nanos());
            world.plan(time, slot, Fault::Start);
        }
        let mut time = lease.as_nanos();
        loop {
            time += world.up_to(lease.as_nanos());
            if time >= end {
                return world;
            }
            // The first node gets no faults, so that it can take over.
            let slot = 1 + usize::try_from(world.up_to(count - 2)).expect("few nodes");
            let fault = world.fault(lease.as_nanos(), conditions);
            world.plan(time, slot, fault);
        }
    }

    fn fault(&mut self, lease: u64, conditions: Conditions) -> Fault {
        match self.up_to(8) {
            0 => Fault::Kill,
            1 => Fault::Leave,
            2 | 3 => Fault::Pause(self.up_to(2 * lease)),
            4 => Fault::Cut(self.up_to(2 * lease), true),
            5 => Fault::Cut(self.up_to(2 * lease), false),
            6 if conditions.slowest > 0 => {
                let slowest = self.up_to(conditions.slowest * lease / 1_000);
                Fault::Slow(slowest, lease / 50 + self.up_to(lease))
            }
            _ => Fault::Start,
        }
    }
}
