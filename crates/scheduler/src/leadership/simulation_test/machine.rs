//! A machine on which a node runs: its clock, its way to the store, and the random schedule of its faults.

use stagger_core::{Instant, Span};
use stagger_testkit::Mix;

use super::node::{Mutation, SimNode};
use super::world::SimWorld;
use crate::leadership::Shards;

/// A machine on which a node may run.
#[derive(Debug)]
pub(super) struct SimMachine {
    pub(super) node: Option<SimNode>,
    pub(super) clock: SimClock,
    /// Counts the nodes that ran here.
    pub(super) life: u64,
    /// The call that it waits for.
    pub(super) call: Option<u64>,
    pub(super) paused_until: u64,
    /// Nothing comes back before this; with `deaf`, nothing gets through either.
    pub(super) cut_until: u64,
    pub(super) is_mute: bool,
    /// The longest way to the store, or back.
    pub(super) delay: u64,
    pub(super) timeout: u64,
    /// Since when nothing is wrong with it.
    pub(super) well_since: Option<u64>,
}

impl SimMachine {
    pub(super) fn new(clock: SimClock, lease: Span) -> Self {
        Self {
            node: None,
            clock,
            life: 0,
            call: None,
            paused_until: 0,
            cut_until: 0,
            is_mute: false,
            delay: lease.as_nanos() / 200,
            timeout: lease.as_nanos() / 10,
            well_since: None,
        }
    }

    pub(super) const fn is_paused(&self, now: u64) -> bool {
        now < self.paused_until
    }

    pub(super) fn acts_on(&self, now: u64) -> Shards {
        let node = self.node.as_ref();
        node.map_or(Shards::NONE, |node| node.acts_on(self.clock.at(now)))
    }
}

/// A fault of one node.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    Start,
    Kill,
    Leave,
    /// It stands still for so long.
    Pause(u64),
    /// No answers reach it for so long; nor do its calls reach the store, if it is mute.
    Cut(u64, bool),
    /// From now on each way takes up to so long, and a call is given up after this.
    Slow(u64, u64),
}

/// Parts of a rate.
const WHOLE: u64 = 1_000_000;

/// A clock that runs at a rate of its own, from an origin of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct SimClock {
    /// Millionths of the true rate.
    pub(super) rate: u64,
    /// The time that it shows at the beginning.
    pub(super) origin: u64,
}

impl SimClock {
    /// The time that it shows at a true time, rounded down.
    pub(super) fn at(self, time: u64) -> Instant {
        Instant::from_nanos(self.origin + scaled(time, self.rate, WHOLE))
    }

    /// The first true time at which it says this, or later.
    pub(super) fn reaches(self, at: Instant) -> u64 {
        let time = scaled(at.as_nanos().saturating_sub(self.origin), WHOLE, self.rate);
        (time..).find(|time| self.at(*time) >= at).expect("time has no end")
    }
}

fn scaled(time: u64, by: u64, of: u64) -> u64 {
    u64::try_from(u128::from(time) * u128::from(by) / u128::from(of)).expect("a short run")
}

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
