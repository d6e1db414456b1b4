//! What befalls nodes.

use stagger::Span;
use stagger_testkit::Mix;

use super::clock::Clock;
use super::node::Flaw;
use super::world::{Slot, World};

/// What befalls a node.
#[derive(Clone, Copy, Debug)]
pub(super) enum Blow {
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

/// How rough it gets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weather {
    /// By how many millionths a clock's rate may be wrong.
    pub(super) drift: u64,
    /// The longest way to the store or back, in thousandths of a lease, once a node was slowed.
    pub(super) slowest: u64,
}

impl World {
    /// A world in which anything may befall its nodes until `end`.
    pub(super) fn rough(seed: u64, lease: Span, flaw: Flaw, weather: Weather, end: u64) -> Self {
        let mut world = Self::new(lease, flaw, Vec::new(), Mix::new(seed));
        let count = 2 + world.up_to(4);
        for _ in 0..count {
            let drift = world.up_to(2 * weather.drift);
            let rate = 1_000_000 - weather.drift + drift;
            let origin = world.up_to(lease.as_nanos() * 1_000);
            world.slots.push(Slot::new(Clock { rate, origin }, lease));
        }
        for slot in 0..world.slots.len() {
            let time = world.up_to(lease.as_nanos());
            world.plan(time, slot, Blow::Start);
        }
        let mut time = lease.as_nanos();
        loop {
            time += world.up_to(lease.as_nanos());
            if time >= end {
                return world;
            }
            // The first is left alone, so that there is somebody to take over.
            let slot = 1 + usize::try_from(world.up_to(count - 2)).expect("few nodes");
            let blow = world.blow(lease.as_nanos(), weather);
            world.plan(time, slot, blow);
        }
    }

    fn blow(&mut self, lease: u64, weather: Weather) -> Blow {
        match self.up_to(8) {
            0 => Blow::Kill,
            1 => Blow::Leave,
            2 | 3 => Blow::Pause(self.up_to(2 * lease)),
            4 => Blow::Cut(self.up_to(2 * lease), true),
            5 => Blow::Cut(self.up_to(2 * lease), false),
            6 if weather.slowest > 0 => {
                let slowest = self.up_to(weather.slowest * lease / 1_000);
                Blow::Slow(slowest, lease / 50 + self.up_to(lease))
            }
            _ => Blow::Start,
        }
    }

    /// Lets it happen.
    pub(super) fn strike(&mut self, at: usize, blow: Blow) {
        let now = self.now;
        let slot = &mut self.slots[at];
        slot.well_since = None;
        match blow {
            Blow::Start => self.start(at),
            Blow::Kill => slot.node = None,
            Blow::Leave => slot.node.iter_mut().for_each(|node| node.leaving = true),
            Blow::Pause(span) => slot.paused_until = slot.paused_until.max(now + span),
            Blow::Cut(span, is_mute) => (slot.cut_until, slot.is_mute) = (now + span, is_mute),
            Blow::Slow(delay, timeout) => (slot.delay, slot.timeout) = (delay, timeout),
        }
    }
}
