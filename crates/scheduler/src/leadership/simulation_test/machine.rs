//! A machine on which a node runs: its clock, its way to the store, and the faults that befall it.

use stagger_core::{Instant, Span};

use super::node::SimNode;
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
