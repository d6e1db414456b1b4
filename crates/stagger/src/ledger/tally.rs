//! The calls of a closed breaker's window of time, counted by many threads.

use stagger_core::breaker::Counts;
use stagger_core::{Instant, Span};

use super::sync::{AtomicU64, Ordering};

/// As the engine's window has them.
const SLOTS: usize = 10;
/// A word: calls in the upper 28 bits, failures in the next 28, the tag in the lowest 8.
const CALL: u64 = 1 << 36;
const FAILURE: u64 = 1 << 8;
const TAG: u64 = FAILURE - 1;
/// Calls that a slot holds: ten such slots fit into 28 bits. A slot with more (26 million calls)
/// halves both its counts, so that the share of failures stays what it is.
const FULL: u64 = (1 << 28) / SLOTS as u64 - 1;
/// The tag of a slot that is not counted in.
const SEALED: u64 = 0;

/// Ten slots, each one word that says whose turn it is.
///
/// A call is counted by one compare-exchange on the running slot, which fails once the slot is
/// sealed: so no call is counted in a slot whose sum was already taken, nor in a later generation
/// of the breaker. A caller would have to sleep through exactly 255 turns between two instructions.
#[derive(Debug)]
pub(super) struct Tally {
    width: u64,
    /// The running [`Turn`].
    turn: AtomicU64,
    /// When the running slot ends, in nanoseconds.
    end: AtomicU64,
    /// The sum of the nine slots before, with the tag of the turn for which it holds.
    older: AtomicU64,
    slots: [AtomicU64; SLOTS],
    /// When the running slot began. Only touched by whoever turns.
    start: AtomicU64,
}

impl Tally {
    /// An empty window of this length.
    pub(super) fn new(window: Span) -> Self {
        // OK because a slot of no width would never end; one nanosecond is the shortest that does.
        let width = (window.as_nanos() / SLOTS as u64).max(1);
        let tally = Self {
            width,
            turn: AtomicU64::new(0),
            end: AtomicU64::new(0),
            older: AtomicU64::new(0),
            slots: std::array::from_fn(|_| AtomicU64::new(SEALED)),
            start: AtomicU64::new(0),
        };
        tally.clear();
        tally
    }

    /// The running turn, to be read before whatever `record` shall not outlive.
    #[inline]
    pub(super) fn turn(&self) -> Turn {
        Turn(self.turn.load(Ordering::Acquire))
    }

    /// Counts a call and answers the sums of the window; `None` when the window has to move on, or
    /// has moved on since `turn`.
    #[inline]
    pub(super) fn record(&self, now: Instant, turn: Turn, failed: bool) -> Option<Counts> {
        if now.as_nanos() >= self.end.load(Ordering::Acquire) {
            return None;
        }
        let older = self.older.load(Ordering::Acquire);
        let slot = self.slot(turn);
        let mut word = slot.load(Ordering::Relaxed);
        loop {
            if word & TAG != turn.tag() || older & TAG != turn.tag() {
                return None;
            }
            let after = with_call(word, failed);
            let swap = slot.compare_exchange_weak(word, after, Ordering::AcqRel, Ordering::Relaxed);
            match swap {
                Ok(_) => return Some(counts(older, after)),
                Err(found) => word = found,
            }
        }
    }

    /// Makes the slot of `now` the running one: at most ten steps, however long the gap, and none
    /// when somebody else did it. One caller at a time.
    pub(super) fn turn_to(&self, now: Instant) {
        if now.as_nanos() < self.end.load(Ordering::Relaxed) {
            return;
        }
        let start = self.start.load(Ordering::Relaxed);
        let steps = now.as_nanos().saturating_sub(start) / self.width;
        let mut turn = self.turn();
        self.slot(turn).fetch_and(!TAG, Ordering::AcqRel);
        for _ in 0..steps.min(SLOTS as u64) {
            turn = turn.next();
            self.slot(turn).store(SEALED, Ordering::Release);
        }
        self.open(turn, start.saturating_add(self.width.saturating_mul(steps)));
    }

    /// Forgets every call. One caller at a time.
    pub(super) fn clear(&self) {
        for slot in &self.slots {
            slot.store(SEALED, Ordering::Release);
        }
        self.open(self.turn().next(), 0);
    }

    /// Lets calls be counted in the slot of `turn`, which is empty and sealed.
    fn open(&self, turn: Turn, start: u64) {
        // OK because no slot is above FULL, and ten of those stay within their 28 bits.
        let older: u64 = self.slots.iter().map(|slot| slot.load(Ordering::Relaxed) & !TAG).sum();
        self.slot(turn).store(turn.tag(), Ordering::Release);
        self.older.store(older | turn.tag(), Ordering::Release);
        self.turn.store(turn.0, Ordering::Release);
        self.start.store(start, Ordering::Relaxed);
        self.end.store(start.saturating_add(self.width), Ordering::Release);
    }

    #[inline]
    fn slot(&self, turn: Turn) -> &AtomicU64 {
        &self.slots[turn.place()]
    }
}

/// One step of the window: the place of its slot in the lower half, its tag above. Both are counted
/// on rather than derived, so that counting a call divides by nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn(u64);

impl Turn {
    const PLACE: u64 = (1 << 32) - 1;

    /// Neither a place beyond the slots nor the tag [`SEALED`].
    const fn next(self) -> Self {
        let place = (self.0 & Self::PLACE) + 1;
        let tag = self.tag() % TAG + 1;
        Self((tag << 32) | if place < SLOTS as u64 { place } else { 0 })
    }

    #[inline]
    const fn tag(self) -> u64 {
        self.0 >> 32
    }

    #[inline]
    const fn place(self) -> usize {
        // OK because a place is below the number of slots.
        (self.0 & Self::PLACE) as usize
    }
}

fn with_call(word: u64, failed: bool) -> u64 {
    let (mut calls, mut failures) = (word / CALL, word % CALL / FAILURE);
    if calls >= FULL {
        (calls, failures) = (calls / 2, failures / 2);
    }
    (calls + 1) * CALL + (failures + u64::from(failed)) * FAILURE + (word & TAG)
}

fn counts(older: u64, newest: u64) -> Counts {
    // OK because both are sums of at most 28 bits.
    #[expect(clippy::cast_possible_truncation, reason = "28 bits")]
    Counts {
        calls: (older / CALL + newest / CALL) as u32,
        failures: (older % CALL / FAILURE + newest % CALL / FAILURE) as u32,
        slow: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_slot_keeps_its_share_of_failures() {
        let word = FULL * CALL + FULL / 4 * FAILURE + 7;
        let after = with_call(word, true);
        let sums = counts(0, after);
        assert_eq!((after & TAG, u64::from(sums.calls)), (7, FULL / 2 + 1));
        assert_eq!(u64::from(sums.failures), FULL / 8 + 1);
    }
}
