//! A sliding window of ten slots: what happened lately, at a cost that no gap in time can raise.

use crate::time::{Instant, Span};

/// Slots in a window. With ten, a call leaves the window at most a tenth of it too early; that is
/// what the field settled on (Polly, Finagle), and their vectors hold for it.
const SLOTS: usize = 10;

/// Counts that can be added up slot by slot.
pub(crate) trait SlotCounts: Copy + Default {
    /// Adds `other`, saturating.
    fn add(&mut self, other: Self);
    /// Takes `other` away again, stopping at zero.
    fn remove(&mut self, other: Self);
}

/// The counts of the running slot and the nine before it.
///
/// Slots lie on a grid from [`Instant::ORIGIN`], so a window needs no start of its own. A clock
/// that steps back counts into the running slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slots<T> {
    slots: [T; SLOTS],
    sum: T,
    current: usize,
    start: Instant,
    end: Instant,
    width: Span,
}

impl<T: SlotCounts> Slots<T> {
    /// An empty window of this length.
    pub(crate) fn new(window: Span) -> Self {
        // OK because a slot of no width would never end; one nanosecond is the shortest that does.
        let width = Span::from_nanos((window.as_nanos() / SLOTS as u64).max(1));
        Self {
            slots: [T::default(); SLOTS],
            sum: T::default(),
            current: 0,
            start: Instant::ORIGIN,
            end: Instant::ORIGIN + width,
            width,
        }
    }

    /// Counts `one` into the slot of `now` and answers the sum of the window.
    #[inline]
    pub(crate) fn record(&mut self, now: Instant, one: T) -> T {
        if now >= self.end {
            self.turn(now);
        }
        self.slots[self.current].add(one);
        self.sum.add(one);
        self.sum
    }

    /// Takes `one` out of the running slot again, as far as it is still there.
    pub(crate) fn take_back(&mut self, now: Instant, one: T) {
        if now >= self.end {
            self.turn(now);
        }
        let mut taken = self.slots[self.current];
        self.slots[self.current].remove(one);
        taken.remove(self.slots[self.current]);
        self.sum.remove(taken);
    }

    /// The sum of the window as it stands at `now`.
    pub(crate) fn sum(&self, now: Instant) -> T {
        let mut then = *self;
        if now >= then.end {
            then.turn(now);
        }
        then.sum
    }

    /// Makes the slot of `now` the running one: at most ten steps, however long the gap.
    #[cold]
    fn turn(&mut self, now: Instant) {
        let steps = (now - self.start).as_nanos() / self.width.as_nanos();
        if steps >= SLOTS as u64 {
            self.slots = [T::default(); SLOTS];
            self.sum = T::default();
        } else {
            for _ in 0..steps {
                self.current = (self.current + 1) % SLOTS;
                self.sum.remove(core::mem::take(&mut self.slots[self.current]));
            }
        }
        self.start = self.start + self.width.saturating_mul(steps);
        self.end = self.start + self.width;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl SlotCounts for u32 {
        fn add(&mut self, other: Self) {
            *self = self.saturating_add(other);
        }
        fn remove(&mut self, other: Self) {
            *self = self.saturating_sub(other);
        }
    }

    const SECOND: u64 = 1_000_000_000;

    fn at(seconds: u64) -> Instant {
        Instant::from_nanos(seconds * SECOND)
    }

    #[test]
    fn a_slot_leaves_when_its_window_has_passed() {
        let mut slots = Slots::new(Span::from_secs(10));
        for second in 0..10 {
            slots.record(at(second), 1_u32);
        }
        assert_eq!(slots.sum(at(9)), 10);
        assert_eq!(slots.sum(at(10)), 9);
        assert_eq!(slots.sum(at(18)), 1);
        assert_eq!(slots.sum(at(19)), 0);
    }

    #[test]
    fn a_long_gap_empties_the_window_at_once() {
        let mut slots = Slots::new(Span::from_secs(10));
        slots.record(at(3), 7_u32);
        assert_eq!(slots.record(Instant::from_nanos(u64::MAX - 1), 1), 1);
        assert_eq!(slots.sum(Instant::FAR), 1);
    }

    #[test]
    fn a_clock_set_back_counts_into_the_running_slot() {
        let mut slots = Slots::new(Span::from_secs(10));
        slots.record(at(100), 1_u32);
        assert_eq!(slots.record(at(5), 1), 2);
        assert_eq!(slots.sum(at(109)), 2);
        assert_eq!(slots.sum(at(110)), 0);
    }
}
