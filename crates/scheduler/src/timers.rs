//! Timers, one for each key.

use std::collections::{BTreeMap, BTreeSet};

use stagger_core::Instant;

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
