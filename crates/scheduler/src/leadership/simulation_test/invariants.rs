//! The invariants that are checked at every instant.

use stagger_core::Span;

use super::machine::SimMachine;
use crate::leadership::{ShardId, Shards};

/// Remembers when each shard was last acted on.
#[derive(Debug)]
pub(super) struct Invariants {
    last: Vec<u64>,
    lease: u64,
    /// The longest time that a shard was without a leader while a node was healthy.
    pub(super) longest: u64,
}

impl Invariants {
    pub(super) fn new(lease: Span) -> Self {
        Self { last: vec![0; Shards::COUNT], lease: lease.as_nanos(), longest: 0 }
    }

    /// Shards have a leader, whatever befalls it before it knows.
    pub(super) fn taken(&mut self, now: u64, shards: Shards) {
        shards.iter().for_each(|shard| self.last[usize::from(shard.0)] = now);
    }

    /// Before something happens at `now`: who has acted until then.
    pub(super) fn note(&mut self, now: u64, slots: &[SimMachine]) {
        for slot in slots.iter().filter(|slot| !slot.is_paused(now)) {
            let Some(node) = &slot.node else { continue };
            let until = slot.clock.reaches(node.until).min(now);
            for shard in node.led().iter() {
                let last = &mut self.last[usize::from(shard.0)];
                *last = until.max(*last);
            }
        }
    }

    /// No two nodes believe that they may act on one shard, those counted that are paused.
    pub(super) fn check_alone(now: u64, slots: &[SimMachine]) -> Result<(), String> {
        let mut acted = Shards::NONE;
        for slot in slots {
            let own = slot.acts_on(now);
            let twice = acted.common(own);
            if !twice.is_empty() {
                return Err(format!("two act on {twice:?} at {now}: {slots:#?}"));
            }
            acted = acted.union(own);
        }
        Ok(())
    }

    /// While a node has been healthy for a lease, no shard has been without a leader for a lease.
    pub(super) fn check_led(&mut self, now: u64, slots: &[SimMachine]) -> Result<(), String> {
        let well = slots.iter().filter_map(|slot| slot.well_since).min();
        if well.is_none_or(|since| since + self.lease > now) {
            return Ok(());
        }
        let oldest = self.last.iter().copied().min().unwrap_or_default();
        self.longest = self.longest.max(now - oldest);
        if now - oldest <= self.lease {
            return Ok(());
        }
        let shard =
            (0..=u8::MAX).map(ShardId).find(|shard| self.last[usize::from(shard.0)] == oldest);
        Err(format!("no node has acted on {shard:?} from {oldest} to {now}: {slots:#?}"))
    }
}
