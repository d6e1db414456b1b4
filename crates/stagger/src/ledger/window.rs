//! The windowed ratio on atomics.

use stagger_core::Instant;
use stagger_core::budget::{Level, Paid, WindowPlan};

use super::lanes::Lanes;
use super::sync::{AtomicU64, Mutex, MutexGuard, Ordering, PoisonError, lane};

const SLOTS: usize = WindowPlan::SLOTS;
/// A slot's word: first attempts above, retries below. First attempts that no longer fit (4 * 10^9
/// in one slot) fall off the upper end, which only ever grants less.
const FIRST: u64 = 1 << 32;
/// The lower half of a slot, and of `grants`.
const RETRIES: u64 = FIRST - 1;
/// Turns wrap here: the largest multiple of the slots below 2^32, so that slots stay in order.
const TURNS: u64 = FIRST / SLOTS as u64 * SLOTS as u64;

/// A window that many threads count in and ask at once.
///
/// Counting and asking take no lock. Once a slot, one caller turns the window while the others
/// wait for a few dozen instructions. A thread that has a [lane](Lanes) counts its first attempts in
/// there, and moves them once a slot.
///
/// Grants never exceed what the plan allows over the counts at the moment of the grant. A grant
/// replaces `grants`, which also holds the turn; the turner moves that turn *before* it takes first
/// attempts out of the window. So a grant either finds the word as it was before the first
/// attempts were added up, and then none of them has left since, or it reckons anew.
#[derive(Debug)]
pub(super) struct Window {
    plan: WindowPlan,
    /// When the newest slot began, in nanoseconds.
    start: AtomicU64,
    /// The newest turn whose slot is ready. Its slot is this modulo the number of slots.
    turn: AtomicU64,
    /// The turn, as the turner saw it last, above; the retries in the window below. Never less than
    /// the sum of the slots' retries: raised before a slot is, and lowered after.
    grants: AtomicU64,
    slots: [AtomicU64; SLOTS],
    /// First attempts that are not in a slot yet.
    lanes: Lanes,
    /// Held while the window turns or takes a retry back.
    turning: Mutex<()>,
}

impl Window {
    pub(super) fn new(plan: WindowPlan) -> Self {
        Self {
            plan,
            start: AtomicU64::new(0),
            turn: AtomicU64::new(0),
            grants: AtomicU64::new(0),
            slots: std::array::from_fn(|_| AtomicU64::new(0)),
            lanes: Lanes::new(),
            turning: Mutex::new(()),
        }
    }

    /// A caller that was overtaken by a turn counts into a slot that is a little too old, or, a
    /// whole window later, into a newer one if it has no lane: when it counts is when it happened.
    #[inline]
    pub(super) fn on_first(&self, now: Instant) {
        self.turn_to(now);
        let turn = self.turn.load(Ordering::Acquire);
        match lane() {
            Some(lane) if self.lanes.count(lane, turn) => {}
            Some(lane) => self.restart(lane),
            None => {
                self.slot(turn).fetch_add(FIRST, Ordering::Relaxed);
            }
        }
    }

    /// Counts one in a lane that was at an older turn, or full: what it had counted goes into its
    /// slot, if that is still in the window.
    #[cold]
    fn restart(&self, lane: usize) {
        let _held = self.lock();
        let turn = self.turn.load(Ordering::Relaxed);
        let (then, count) = self.lanes.restart(lane, turn);
        if is_within(turn, then) {
            self.slot(then).fetch_add(count * FIRST, Ordering::AcqRel);
        }
        self.lanes.count(lane, turn);
    }

    pub(super) fn ask(&self, now: Instant) -> Option<Paid> {
        self.turn_to(now);
        loop {
            let grants = self.grants.load(Ordering::Acquire);
            let turn = self.turn.load(Ordering::Acquire);
            if grants / FIRST != turn {
                // The slot is being cleared: what it still holds must not be added up.
                drop(self.lock());
                continue;
            }
            let retries = grants & RETRIES;
            let room = retries < RETRIES && self.plan.has_room(self.firsts(turn), retries);
            if self.settle(grants, room) {
                return room.then(|| self.note(turn));
            }
        }
    }

    /// Gives a retry back to its slot; nothing once that has left the window, and the retry with it.
    pub(super) fn refund(&self, now: Instant, paid: Paid) {
        if paid.amount() == 0 {
            return;
        }
        self.turn_to(now);
        let _held = self.lock();
        let mark = u64::from(paid.mark()) % TURNS;
        let age = (self.turn.load(Ordering::Relaxed) + TURNS - mark) % TURNS;
        if age >= SLOTS as u64 {
            return;
        }
        let taken = self.slot(mark).fetch_update(Ordering::AcqRel, Ordering::Relaxed, |slot| {
            (slot & RETRIES > 0).then(|| slot - 1)
        });
        if taken.is_ok() {
            self.grants.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Reads only: the window does not turn for whoever looks at it.
    pub(super) fn level(&self, now: Instant) -> Level {
        let _held = self.lock();
        let gone = now.as_nanos().saturating_sub(self.start.load(Ordering::Relaxed));
        let steps = gone / self.plan.slot().as_nanos();
        let turn = self.turn.load(Ordering::Relaxed) + TURNS;
        let (mut firsts, mut retries) = (0, 0);
        for age in 0..(SLOTS as u64).saturating_sub(steps) {
            let slot = self.slot(turn - age).load(Ordering::Relaxed);
            firsts += slot / FIRST;
            retries += slot & RETRIES;
        }
        let is_in = |then| (turn - then) % TURNS + steps < SLOTS as u64;
        self.plan.level_of(firsts + self.lanes.sum(is_in), retries)
    }

    /// Whether the counts that were read are those that an answer may rest on; a grant is entered.
    fn settle(&self, grants: u64, room: bool) -> bool {
        if !room {
            return self.grants.load(Ordering::Acquire) == grants;
        }
        self.grants
            .compare_exchange(grants, grants + 1, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// Enters a grant into its slot. If the slot has left the window meanwhile, the grant counts
    /// with the slot that came after it, longer than it had to.
    fn note(&self, turn: u64) -> Paid {
        self.slot(turn).fetch_add(1, Ordering::Relaxed);
        // OK because a turn is below TURNS, and that is below 2^32.
        #[expect(clippy::cast_possible_truncation, reason = "below TURNS")]
        Paid::new(1, turn as u32)
    }

    /// The first attempts in the window of this turn. Acquire: whoever reads a slot that was cleared
    /// must also see that the turn was moved before.
    fn firsts(&self, turn: u64) -> u64 {
        let slots: u64 = self.slots.iter().map(|slot| slot.load(Ordering::Acquire) / FIRST).sum();
        slots + self.lanes.sum(|then| is_within(turn, then))
    }

    #[inline]
    fn turn_to(&self, now: Instant) {
        let start = self.start.load(Ordering::Acquire);
        if now.as_nanos().wrapping_sub(start) >= self.plan.slot().as_nanos() {
            self.advance(now.as_nanos());
        }
    }

    /// However long the gap, at most one round over the slots. A clock set back reads as no time
    /// passed; beyond a whole window it is no mere disorder between threads, and the window goes on
    /// from there.
    #[cold]
    fn advance(&self, now: u64) {
        let _held = self.lock();
        let start = self.start.load(Ordering::Relaxed);
        let Some(gone) = now.checked_sub(start) else {
            if start - now > self.plan.window().as_nanos() {
                self.start.store(now, Ordering::Release);
            }
            return;
        };
        let slot = self.plan.slot().as_nanos();
        let steps = gone / slot;
        for _ in 0..steps.min(SLOTS as u64) {
            self.step();
        }
        self.start.store(start + steps * slot, Ordering::Release);
    }

    /// One turn: no more grants on the old counts, then the oldest slot leaves, then the new one is
    /// there to count in.
    fn step(&self) {
        let turn = (self.turn.load(Ordering::Relaxed) + 1) % TURNS;
        let _ = self.grants.fetch_update(Ordering::AcqRel, Ordering::Relaxed, |grants| {
            Some((turn * FIRST) | (grants & RETRIES))
        });
        let left = self.slot(turn).swap(0, Ordering::AcqRel);
        self.grants.fetch_sub(left & RETRIES, Ordering::AcqRel);
        self.turn.store(turn, Ordering::Release);
    }

    #[inline]
    fn slot(&self, turn: u64) -> &AtomicU64 {
        // OK because what is below the number of slots fits any usize.
        #[expect(clippy::cast_possible_truncation, reason = "below SLOTS")]
        &self.slots[(turn % SLOTS as u64) as usize]
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        // Nothing panics while it is held, and what it guards is whole at every step.
        self.turning.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the slot of `then` is in the window whose newest slot is that of `turn`. Both are below
/// [`TURNS`], so no division is needed.
#[inline]
fn is_within(turn: u64, then: u64) -> bool {
    let around = if then > turn { TURNS } else { 0 };
    turn + around - then < SLOTS as u64
}
