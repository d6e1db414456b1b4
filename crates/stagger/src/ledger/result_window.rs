//! The calls of a closed breaker's window of time, counted by many threads.

use stagger_core::breaker::Counts;
use stagger_core::{Instant, Span};

use super::striped_counter::StripedCounter;
use super::sync::{AtomicU64, Ordering, stripe};

/// As the engine's window has them.
const SLOTS: usize = 10;
/// A word: calls in the upper 28 bits, failures in the next 28, the tag in the lowest 8.
const CALL: u64 = 1 << 36;
const FAILURE: u64 = 1 << 8;
const TAG: u64 = FAILURE - 1;
/// Calls that a slot holds: ten such slots fit into 28 bits, and all [`StripedCounter`] beside them. A slot
/// with more (13 million calls) halves both its counts, so that the share of failures stays what it
/// is.
const FULL: u64 = (1 << 27) / SLOTS as u64 - 1;
/// The tag of a slot that is not counted in.
const SEALED: u64 = 0;

/// Ten slots, each one word that says whose turn it is.
///
/// A call is counted by one compare-exchange on the running slot, which fails once the slot is
/// sealed: so no call is counted in a slot whose sum was already taken, nor in a later generation
/// of the breaker. A caller would have to sleep through exactly 255 turns between two instructions.
///
/// A success of a thread that has a stripe is counted there. One that a turn overtakes is in no sum
/// before the next turn: a failure never is.
#[derive(Debug)]
pub(super) struct ResultWindow {
    width: u64,
    /// The running [`Turn`].
    turn: AtomicU64,
    /// The end of the running slot, in nanoseconds.
    end: AtomicU64,
    /// The sum of the nine slots before, with the tag of the turn for which it holds.
    older: AtomicU64,
    slots: [AtomicU64; SLOTS],
    /// Successes that are not in a slot yet.
    stripes: StripedCounter,
    /// The start of the running slot. Only touched by the thread that turns the window.
    start: AtomicU64,
}

impl ResultWindow {
    /// An empty window of this length.
    pub(super) fn new(window: Span) -> Self {
        // OK because a slot of no width would never end; one nanosecond is the shortest that does.
        let width = (window.as_nanos() / SLOTS as u64).max(1);
        let window = Self {
            width,
            turn: AtomicU64::new(0),
            end: AtomicU64::new(0),
            older: AtomicU64::new(0),
            slots: std::array::from_fn(|_| AtomicU64::new(SEALED)),
            stripes: StripedCounter::new(),
            start: AtomicU64::new(0),
        };
        window.clear();
        window
    }

    /// The running turn, to be read before whatever `record` shall not outlive.
    #[inline]
    pub(super) fn turn(&self) -> Turn {
        Turn(self.turn.load(Ordering::Acquire))
    }

    /// Counts a call and answers the sums of the window, less what is [in stripes](Self::in_stripes);
    /// `None` when the window or the stripe has to move on, or the window has since `turn`.
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
            if let Some(stripe) = stripe().filter(|_| !failed) {
                let counted = self.stripes.count(stripe, turn.serial());
                return counted.then(|| counts(older, word));
            }
            let after = with_calls(word, 1, u64::from(failed));
            let swap = slot.compare_exchange_weak(word, after, Ordering::AcqRel, Ordering::Relaxed);
            match swap {
                Ok(_) => return Some(counts(older, after)),
                Err(found) => word = found,
            }
        }
    }

    /// The successes of the running turn that are in stripes. To be read after [`record`](Self::record).
    pub(super) fn in_stripes(&self, turn: Turn) -> u32 {
        // OK because all stripes together hold less than 2^27.
        u32::try_from(self.stripes.sum(|serial| serial == turn.serial())).unwrap_or(u32::MAX)
    }

    /// Makes the running turn that of this thread's stripe, if it has one, and moves what that had
    /// counted into its slot, if that is still in the window. One caller at a time.
    pub(super) fn restart_stripe(&self) {
        let Some(stripe) = stripe() else { return };
        let turn = self.turn();
        let (serial, count) = self.stripes.restart(stripe, turn.serial());
        if let Some(slot) = turn.place_of(serial).map(|place| &self.slots[place]) {
            let _ = slot.fetch_update(Ordering::AcqRel, Ordering::Relaxed, |word| {
                Some(with_calls(word, count, 0))
            });
        }
    }

    /// Makes the slot of `now` the running one: at most ten steps, however long the gap, and none
    /// when another thread did it. One caller at a time.
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
        // What is in stripes is then older than any window.
        let turn = (0..SLOTS).fold(self.turn(), |turn, _| turn.next());
        self.open(turn, 0);
    }

    /// Lets calls be counted in the slot of `turn`, which is empty and sealed.
    fn open(&self, turn: Turn, start: u64) {
        // OK because no slot is above FULL, and ten of those with all stripes stay within 28 bits.
        let slots: u64 = self.slots.iter().map(|slot| slot.load(Ordering::Relaxed) & !TAG).sum();
        let in_stripes = self.stripes.sum(|serial| turn.place_of(serial).is_some());
        let older = slots + in_stripes * CALL;
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

/// One step of the window: its serial number in the upper half, below it its tag, and in the lowest
/// byte the place of its slot. All are counted on rather than derived, so that counting a call
/// divides by nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn(u64);

impl Turn {
    /// Neither a place beyond the slots nor the tag [`SEALED`].
    const fn next(self) -> Self {
        let serial = (self.serial() + 1) & Self::SERIALS;
        let tag = self.tag() % TAG + 1;
        let place = (self.place() as u64 + 1) % SLOTS as u64;
        Self((serial << 32) | (tag << 8) | place)
    }

    /// Serial numbers wrap after 49 days of the shortest slots. A thread that has counted nothing for
    /// just so long is then counted once more, for one window.
    const SERIALS: u64 = (1 << 32) - 1;

    #[inline]
    const fn serial(self) -> u64 {
        self.0 >> 32
    }

    #[inline]
    const fn tag(self) -> u64 {
        (self.0 >> 8) & TAG
    }

    #[inline]
    const fn place(self) -> usize {
        // OK because a place is below the number of slots.
        (self.0 & TAG) as usize
    }

    /// The place of the slot of an earlier turn, or of this one, if it is in the window.
    fn place_of(self, serial: u64) -> Option<usize> {
        let age = self.serial().wrapping_sub(serial) & Self::SERIALS;
        let age = usize::try_from(age).ok().filter(|age| *age < SLOTS)?;
        Some((self.place() + SLOTS - age) % SLOTS)
    }
}

/// A slot's word with so many more.
#[inline]
fn with_calls(word: u64, more: u64, failed: u64) -> u64 {
    let (mut calls, mut failures) = (word / CALL + more, word % CALL / FAILURE + failed);
    while calls > FULL {
        (calls, failures) = (calls / 2, failures / 2);
    }
    calls * CALL + failures * FAILURE + (word & TAG)
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
        let after = with_calls(word, 1, 1);
        let sums = counts(0, after);
        assert_eq!((after & TAG, u64::from(sums.calls)), (7, FULL.div_ceil(2)));
        assert_eq!(u64::from(sums.failures), (FULL / 4).div_ceil(2));
    }
}
