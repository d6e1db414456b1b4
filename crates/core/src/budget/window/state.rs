//! The memory of a windowed ratio.

use super::plan::{SLOTS, WindowPlan};
use crate::Instant;

/// The first attempts of a window, by slot, and what is spent of their earnings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowState {
    pub(super) slots: [u32; SLOTS],
    /// The sum of all slots.
    pub(super) firsts: u64,
    /// Earnings of this window that are spent, in millionths of a retry.
    pub(super) spent: u64,
    /// The start of the newest slot, in nanoseconds.
    start: u64,
    /// The newest slot.
    pub(super) head: usize,
    /// Counts the steps of the window, wrapping; a grant notes it, so that a refund knows its age.
    pub(super) turn: u32,
}

impl WindowState {
    /// Two slots a word, the spent earnings, the start, and head and turn in one.
    pub(in crate::budget) const WORDS: usize = SLOTS / 2 + 3;

    pub(in crate::budget) fn to_words(self) -> [u64; Self::WORDS] {
        let [a, b, c, d, e, f, g, h, i, j] = self.slots.map(u64::from);
        let head = (self.head as u64) << 32 | u64::from(self.turn);
        let pair = |newer: u64, older: u64| newer << 32 | older;
        [pair(a, b), pair(c, d), pair(e, f), pair(g, h), pair(i, j), self.spent, self.start, head]
    }

    /// `None` for a head that is no slot, or more spent than a window can earn.
    pub(in crate::budget) fn from_words(
        words: [u64; Self::WORDS],
        plan: &WindowPlan,
    ) -> Option<Self> {
        let [a, b, c, d, e, spent, start, place] = words;
        let halves = |word| [high(word), low(word)];
        let [[a, b], [c, d], [e, f], [g, h], [i, j]] = [a, b, c, d, e].map(halves);
        let slots = [a, b, c, d, e, f, g, h, i, j];
        let firsts = slots.iter().copied().map(u64::from).sum();
        let (head, turn) = (high(place) as usize, low(place));
        (head < SLOTS && spent <= plan.allowance(firsts)).then_some(Self {
            slots,
            firsts,
            spent,
            start,
            head,
            turn,
        })
    }

    /// Moves the window to `now`. Within a slot this is one subtraction and one comparison; a clock
    /// set back wraps and takes the slow way.
    #[inline]
    pub(super) fn turn_to(&mut self, plan: &WindowPlan, now: Instant) {
        if now.as_nanos().wrapping_sub(self.start) >= plan.slot().as_nanos() {
            self.advance(plan, now.as_nanos());
        }
    }

    /// However long the gap, at most one round over the slots.
    #[cold]
    fn advance(&mut self, plan: &WindowPlan, now: u64) {
        let Some(gone) = now.checked_sub(self.start) else {
            return self.step_back(plan, now);
        };
        let slot = plan.slot().as_nanos();
        let steps = gone / slot;
        self.start += steps * slot;
        let seen = steps.min(SLOTS as u64);
        for _ in 0..seen {
            self.head = (self.head + 1) % SLOTS;
            self.turn = self.turn.wrapping_add(1);
            let old = u64::from(core::mem::take(&mut self.slots[self.head]));
            self.spent = plan.spent_after(self.spent, self.firsts, old);
            self.firsts -= old;
        }
        self.spent = plan.spent_after_idle(self.spent, steps - seen);
    }

    /// A clock set back reads as no time passed. Beyond a whole window it is no mere disorder
    /// between threads, and the window goes on from there, or it would stand still until the clock
    /// has caught up.
    fn step_back(&mut self, plan: &WindowPlan, now: u64) {
        if self.start - now > plan.window().as_nanos() {
            self.start = now;
        }
    }
}

// OK because the upper half of a word is all that is left of it.
const fn high(word: u64) -> u32 {
    (word >> 32) as u32
}

#[expect(clippy::cast_possible_truncation, reason = "only the lower half is asked for")]
const fn low(word: u64) -> u32 {
    word as u32
}
