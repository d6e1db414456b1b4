//! Counters that are written by one thread each, which takes no locked instruction.

use super::sync::{AtomicU64, Ordering, STRIPES};

/// The turn of a window's slot in the upper half of a stripe, what was counted in it in the lower.
const COUNT: u64 = (1 << 32) - 1;
/// A stripe with more is emptied into the slot: so all stripes together stay below 2^27.
const FULL: u64 = 1 << 24;

/// One word for each stripe, in which its thread counts for the newest slot of a window.
///
/// Only the stripe's own thread writes it, so a load and a store do. It is never cleared by another: a
/// word whose turn has left the window counts for nothing. What it counts for an older slot is moved
/// into that slot by its thread, when that first counts for a newer one.
#[derive(Debug)]
pub(super) struct StripedCounter([CacheLine; STRIPES]);

/// A word alone on its cache line.
#[derive(Debug)]
#[repr(align(64))]
struct CacheLine(AtomicU64);

impl StripedCounter {
    pub(super) fn new() -> Self {
        Self(std::array::from_fn(|_| CacheLine(AtomicU64::new(0))))
    }

    /// Counts one in this thread's `stripe`, unless that is at another turn, or full.
    #[inline]
    pub(super) fn count(&self, stripe: usize, turn: u64) -> bool {
        let word = &self.0[stripe].0;
        let before = word.load(Ordering::Relaxed);
        let counts = before.wrapping_sub(turn << 32) < FULL;
        if counts {
            // Release: a thread that sees this count sees what its writer saw of the window.
            word.store(before + 1, Ordering::Release);
        }
        counts
    }

    /// Sets this thread's `stripe` to a turn, with nothing counted; what it had counted, and at which
    /// turn, is the caller's to move, after this.
    pub(super) fn restart(&self, stripe: usize, turn: u64) -> (u64, u64) {
        let word = &self.0[stripe].0;
        let before = word.load(Ordering::Relaxed);
        word.store(turn << 32, Ordering::Release);
        (before >> 32, before & COUNT)
    }

    /// The sum of the stripes at the turns that are in. To be read after the slots: what is moved
    /// meanwhile is then missed, and never counted twice.
    pub(super) fn sum(&self, is_in: impl Fn(u64) -> bool) -> u64 {
        let words = self.0.iter().map(|line| line.0.load(Ordering::Acquire));
        words.filter(|word| is_in(word >> 32)).map(|word| word & COUNT).sum()
    }
}
