//! Who has the next turn at a number of slots.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

/// The share of slots kept for those who hold none: one in so many.
///
/// Whoever hangs fills the other slots at most, so that everybody else still gets a first one.
const KEPT_SHARE: u32 = 4;

/// Slots, and a line of those who want one: in turn, but whoever holds none goes first.
#[derive(Debug)]
pub(super) struct Line<K> {
    slots: NonZeroU32,
    taken: u32,
    /// The number drawn last.
    number: u64,
    without: BTreeSet<(u64, K)>,
    with: BTreeSet<(u64, K)>,
    places: BTreeMap<K, Place>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    number: u64,
    holds_one: bool,
}

impl<K: Copy + Ord> Line<K> {
    pub(super) const fn new(slots: NonZeroU32) -> Self {
        Self {
            slots,
            taken: 0,
            number: 0,
            without: BTreeSet::new(),
            with: BTreeSet::new(),
            places: BTreeMap::new(),
        }
    }

    pub(super) const fn set_slots(&mut self, slots: NonZeroU32) {
        self.slots = slots;
    }

    pub(super) const fn taken(&self) -> u32 {
        self.taken
    }

    /// `who` stands in line; whoever does already keeps the place, but goes over to those without a
    /// slot, or back.
    pub(super) fn join(&mut self, who: K, holds_one: bool) {
        let number = match self.places.get(&who) {
            Some(place) if place.holds_one == holds_one => return,
            Some(place) => {
                let number = place.number;
                self.leave(who);
                number
            }
            None => {
                self.number += 1;
                self.number
            }
        };
        self.places.insert(who, Place { number, holds_one });
        self.queue(holds_one).insert((number, who));
    }

    pub(super) fn leave(&mut self, who: K) {
        if let Some(place) = self.places.remove(&who) {
            self.queue(place.holds_one).remove(&(place.number, who));
        }
    }

    /// Whether somebody has a turn.
    pub(super) fn has_turn(&self) -> bool {
        let left = self.slots.get().saturating_sub(self.taken);
        let kept = self.slots.get() / KEPT_SHARE;
        (left > 0 && !self.without.is_empty()) || (left > kept && !self.with.is_empty())
    }

    /// Whose turn it is. Takes no slot yet.
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

    fn line(slots: u32) -> Line<char> {
        Line::new(NonZeroU32::new(slots).unwrap())
    }

    #[test]
    fn one_with_endless_work_lets_the_others_have_their_turns() {
        let mut line = line(8);
        line.join('a', false);
        line.join('b', false);
        let mut turns = String::new();
        for _ in 0..6 {
            let who = line.call().unwrap();
            turns.push(who);
            line.join(who, false);
        }
        assert_eq!(turns, "ababab");
    }

    #[test]
    fn whoever_hangs_leaves_a_slot_for_those_who_hold_none() {
        let mut line = line(4);
        line.join('h', false);
        while let Some(who) = line.call() {
            line.take();
            line.join(who, true);
        }
        assert_eq!((line.taken(), line.has_turn()), (3, false));
        line.join('b', false);
        assert_eq!(line.call(), Some('b'));
        line.take();
        line.join('c', false);
        assert_eq!(line.call(), None, "all are taken");
        line.give_back();
        assert_eq!(line.call(), Some('c'));
    }

    #[test]
    fn a_single_slot_is_nobodys_own() {
        let mut line = line(1);
        line.join('a', true);
        assert_eq!(line.call(), Some('a'));
    }

    #[test]
    fn joining_twice_gives_one_turn() {
        let mut line = line(1);
        line.join('a', false);
        line.join('a', false);
        line.join('a', true);
        assert_eq!((line.call(), line.call()), (Some('a'), None));
    }
}
