//! Keys that wait: for a slot, in fair order, or for a time.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use stagger_core::Instant;

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

    /// The most of `slots` that a single key can have: all but those that are kept for others.
    pub(super) const fn within_reach(slots: NonZeroU32) -> NonZeroU32 {
        match NonZeroU32::new(slots.get() - slots.get() / KEPT_SHARE) {
            Some(reach) => reach,
            None => slots,
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

/// One timer for each key, ordered by time.
#[derive(Debug)]
pub(super) struct Timers<K> {
    by_time: BTreeSet<(Instant, K)>,
    by_name: BTreeMap<K, Instant>,
}

impl<K: Copy + Ord> Timers<K> {
    pub(super) const fn new() -> Self {
        Self { by_time: BTreeSet::new(), by_name: BTreeMap::new() }
    }

    /// Sets the timer of a key, and replaces its earlier one.
    pub(super) fn set(&mut self, who: K, at: Instant) {
        if let Some(before) = self.by_name.insert(who, at) {
            self.by_time.remove(&(before, who));
        }
        self.by_time.insert((at, who));
    }

    pub(super) fn clear(&mut self, who: K) {
        if let Some(at) = self.by_name.remove(&who) {
            self.by_time.remove(&(at, who));
        }
    }

    /// Removes the first timer that is due, and returns its key.
    pub(super) fn pop(&mut self, now: Instant) -> Option<K> {
        let (at, who) = *self.by_time.first()?;
        if at > now {
            return None;
        }
        self.clear(who);
        Some(who)
    }

    pub(super) fn first(&self) -> Option<Instant> {
        self.by_time.first().map(|(at, _)| *at)
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

    #[test]
    fn an_alarm_that_was_set_again_rings_once() {
        let at = Instant::from_nanos;
        let mut timers = Timers::new();
        timers.set('a', at(5));
        timers.set('b', at(6));
        timers.set('a', at(7));
        assert_eq!((timers.pop(at(5)), timers.first()), (None, Some(at(6))));
        assert_eq!((timers.pop(at(9)), timers.pop(at(9))), (Some('b'), Some('a')));
        timers.clear('a');
        assert_eq!((timers.pop(at(9)), timers.first()), (None, None));
    }
}
