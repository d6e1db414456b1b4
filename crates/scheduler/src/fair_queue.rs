//! Fair order of keys that wait for a slot.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

/// The share of slots kept for keys that hold none: a quarter.
///
/// A key whose attempts hang fills the other slots at most, so that each other key still gets a
/// first one.
const KEPT_SHARE: u32 = 4;

/// Slots, and the keys that wait for one: in turn, but keys without a slot go first.
#[derive(Debug)]
pub(super) struct FairQueue<K> {
    slots: NonZeroU32,
    taken: u32,
    /// The number drawn last.
    number: u64,
    without: BTreeSet<(u64, K)>,
    with: BTreeSet<(u64, K)>,
    positions: BTreeMap<K, Position>,
}

#[derive(Clone, Copy, Debug)]
struct Position {
    number: u64,
    holds_one: bool,
}

impl<K: Copy + Ord> FairQueue<K> {
    pub(super) const fn new(slots: NonZeroU32) -> Self {
        Self {
            slots,
            taken: 0,
            number: 0,
            without: BTreeSet::new(),
            with: BTreeSet::new(),
            positions: BTreeMap::new(),
        }
    }

    pub(super) const fn set_slots(&mut self, slots: NonZeroU32) {
        self.slots = slots;
    }

    pub(super) const fn taken(&self) -> u32 {
        self.taken
    }

    /// Adds a key. One that is waiting already keeps its position, but moves between the keys with
    /// and without a slot.
    pub(super) fn join(&mut self, who: K, holds_one: bool) {
        let number = match self.positions.get(&who) {
            Some(position) if position.holds_one == holds_one => return,
            Some(position) => {
                let number = position.number;
                self.leave(who);
                number
            }
            None => {
                self.number += 1;
                self.number
            }
        };
        self.positions.insert(who, Position { number, holds_one });
        self.queue(holds_one).insert((number, who));
    }

    pub(super) fn leave(&mut self, who: K) {
        if let Some(position) = self.positions.remove(&who) {
            self.queue(position.holds_one).remove(&(position.number, who));
        }
    }

    /// Whether a key can have a slot now.
    pub(super) fn has_turn(&self) -> bool {
        let left = self.slots.get().saturating_sub(self.taken);
        let kept = self.slots.get() / KEPT_SHARE;
        (left > 0 && !self.without.is_empty()) || (left > kept && !self.with.is_empty())
    }

    /// The next in the queue. Takes no slot yet.
    pub(super) fn call(&mut self) -> Option<K> {
        if !self.has_turn() {
            return None;
        }
        let (_, who) = *self.without.first().or_else(|| self.with.first())?;
        self.leave(who);
        Some(who)
    }

    pub(super) const fn take(&mut self) {
        self.taken += 1;
    }

    pub(super) const fn give_back(&mut self) {
        self.taken = self.taken.saturating_sub(1);
    }

    const fn queue(&mut self, holds_one: bool) -> &mut BTreeSet<(u64, K)> {
        if holds_one { &mut self.with } else { &mut self.without }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fair_queue(slots: u32) -> FairQueue<char> {
        FairQueue::new(NonZeroU32::new(slots).unwrap())
    }

    #[test]
    fn one_with_endless_work_lets_the_others_have_their_turns() {
        let mut fair_queue = fair_queue(8);
        fair_queue.join('a', false);
        fair_queue.join('b', false);
        let mut turns = String::new();
        for _ in 0..6 {
            let who = fair_queue.call().unwrap();
            turns.push(who);
            fair_queue.join(who, false);
        }
        assert_eq!(turns, "ababab");
    }

    #[test]
    fn a_hanging_key_leaves_a_slot_for_keys_without_one() {
        let mut fair_queue = fair_queue(4);
        fair_queue.join('h', false);
        while let Some(who) = fair_queue.call() {
            fair_queue.take();
            fair_queue.join(who, true);
        }
        assert_eq!((fair_queue.taken(), fair_queue.has_turn()), (3, false));
        fair_queue.join('b', false);
        assert_eq!(fair_queue.call(), Some('b'));
        fair_queue.take();
        fair_queue.join('c', false);
        assert_eq!(fair_queue.call(), None, "all are taken");
        fair_queue.give_back();
        assert_eq!(fair_queue.call(), Some('c'));
    }

    #[test]
    fn a_single_slot_goes_round() {
        let mut fair_queue = fair_queue(1);
        fair_queue.join('a', true);
        assert_eq!(fair_queue.call(), Some('a'));
    }

    #[test]
    fn joining_twice_gives_one_turn() {
        let mut fair_queue = fair_queue(1);
        fair_queue.join('a', false);
        fair_queue.join('a', false);
        fair_queue.join('a', true);
        assert_eq!((fair_queue.call(), fair_queue.call()), (Some('a'), None));
    }
}
