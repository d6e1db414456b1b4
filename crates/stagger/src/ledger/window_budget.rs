//! The windowed ratio on atomics.

use stagger_core::Instant;
use stagger_core::budget::{Level, Paid, WindowPlan};

use super::striped_counter::StripedCounter;
use super::sync::{AtomicU64, Mutex, MutexGuard, Ordering, PoisonError, stripe};

const SLOTS: usize = WindowPlan::SLOTS;
/// A slot counts at most 4 * 10^9 first attempts, as in the plan.
const FULL_SLOT: u64 = u32::MAX as u64;
/// Turns wrap here: the largest multiple of the slots below 2^32, so that slots stay in order.
const TURNS: u64 = (1 << 32) / SLOTS as u64 * SLOTS as u64;
/// One retry, in the millionths in which earnings are spent.
const RETRY: u64 = 1_000_000;
/// The bits of `grants` that hold what is spent: four billion retries in millionths. The bits above
/// hold the turn, as far as it fits: it is compared within one window only.
const SPENT_BITS: u32 = 52;
const SPENT: u64 = (1 << SPENT_BITS) - 1;

/// A window that many threads count in and ask at once.
///
/// Counting and asking take no lock. Once a slot, one caller turns the window while the others
/// wait for a few dozen instructions. A thread that has a [stripe](StripedCounter) counts its first attempts in
/// there, and moves them once a slot.
///
/// A grant never spends more than the plan allows over the counts at the moment of the grant. It
/// replaces `grants`, which also holds the turn; the turning thread moves that turn *before* it takes
/// first attempts out of the window. So either `grants` is unchanged since the first attempts were
/// added up, and then none of them has left since, or the grant is decided again.
#[derive(Debug)]
pub(super) struct WindowBudget {
    plan: WindowPlan,
    /// The start of the newest slot, in nanoseconds.
    start: AtomicU64,
    /// The newest turn whose slot is ready. Its slot is this modulo the number of slots.
    turn: AtomicU64,
    /// The turn in the upper bits, and the millionths spent of this window's earnings.
    grants: AtomicU64,
    /// First attempts, by slot.
    slots: [AtomicU64; SLOTS],
    /// First attempts that are not in a slot yet.
    stripes: StripedCounter,
    /// Held while the window turns or takes a retry back.
    turning: Mutex<()>,
}

impl WindowBudget {
    pub(super) fn new(plan: WindowPlan) -> Self {
        Self {
            plan,
            start: AtomicU64::new(0),
            turn: AtomicU64::new(0),
            grants: AtomicU64::new(0),
            slots: std::array::from_fn(|_| AtomicU64::new(0)),
            stripes: StripedCounter::new(),
            turning: Mutex::new(()),
        }
    }

    /// A caller that was overtaken by a turn counts into a slot that is a little too old, or, a
    /// whole window later, into a newer one if it has no stripe: when it counts is when it happened.
    #[inline]
    pub(super) fn on_first(&self, now: Instant) {
        self.turn_to(now);
        let turn = self.turn.load(Ordering::Acquire);
        match stripe() {
            Some(stripe) if self.stripes.count(stripe, turn) => {}
            Some(stripe) => self.restart(stripe),
            None => {
                self.slot(turn).fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Counts one in a stripe that was at an older turn, or full: what it had counted goes into its
    /// slot, if that is still in the window.
    #[cold]
    fn restart(&self, stripe: usize) {
        let _held = self.lock();
        let turn = self.turn.load(Ordering::Relaxed);
        let (then, count) = self.stripes.restart(stripe, turn);
        if is_within(turn, then) {
            self.slot(then).fetch_add(count, Ordering::AcqRel);
        }
        self.stripes.count(stripe, turn);
    }

    pub(super) fn ask(&self, now: Instant) -> Option<Paid> {
        self.turn_to(now);
        loop {
            let grants = self.grants.load(Ordering::Acquire);
            let turn = self.turn.load(Ordering::Acquire);
            if grants & !SPENT != marked(turn) {
                // The slot is being cleared: what it still holds must not be added up.
                drop(self.lock());
                continue;
            }
            let spent = grants & SPENT;
            let room = spent <= SPENT - RETRY && self.plan.has_room(self.firsts(turn), spent);
            if self.settle(grants, room) {
                // OK because a turn is below TURNS, and that is below 2^32.
                #[expect(clippy::cast_possible_truncation, reason = "below TURNS")]
                return room.then(|| Paid::new(1, turn as u32));
            }
        }
    }

    /// Gives a grant back; nothing after a whole window, when its earnings have expired.
    pub(super) fn refund(&self, now: Instant, paid: Paid) {
        if paid.amount() == 0 {
            return;
        }
        self.turn_to(now);
        let _held = self.lock();
        if is_within(self.turn.load(Ordering::Relaxed), u64::from(paid.mark()) % TURNS) {
            self.spend(|spent| spent.saturating_sub(RETRY));
        }
    }

    /// Reads only: the window does not turn for a reader.
    pub(super) fn level(&self, now: Instant) -> Level {
        let _held = self.lock();
        let gone = now.as_nanos().saturating_sub(self.start.load(Ordering::Relaxed));
        let steps = gone / self.plan.slot().as_nanos();
        let seen = steps.min(SLOTS as u64);
        let turn = self.turn.load(Ordering::Relaxed);
        let mut spent = self.grants.load(Ordering::Relaxed) & SPENT;
        // The next turn's slot is the oldest one.
        let mut firsts = self.firsts(turn);
        for next in 1..=seen {
            let left = self.count(turn + next);
            spent = self.plan.spent_after(spent, firsts, left);
            firsts = firsts.saturating_sub(left);
        }
        self.plan.level_of(firsts, self.plan.spent_after_idle(spent, steps - seen))
    }

    /// Whether the counts that were read are those that an answer may rest on; a grant is entered.
    fn settle(&self, grants: u64, room: bool) -> bool {
        if !room {
            return self.grants.load(Ordering::Acquire) == grants;
        }
        self.grants
            .compare_exchange(grants, grants + RETRY, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// The first attempts in the window of this turn. Acquire: a thread that reads a slot that was cleared
    /// must also see that the turn was moved before.
    fn firsts(&self, turn: u64) -> u64 {
        let slots: u64 = self.slots.iter().map(|slot| capped(slot.load(Ordering::Acquire))).sum();
        slots + self.stripes.sum(|then| is_within(turn, then))
    }

    /// The first attempts in the slot that the window holds at the place of this turn; the lock is
    /// held.
    fn count(&self, turn: u64) -> u64 {
        capped(self.slot(turn).load(Ordering::Acquire)) + self.in_stripes(turn)
    }

    /// As many of them as are still in stripes.
    fn in_stripes(&self, turn: u64) -> u64 {
        let (now, place) = (self.turn.load(Ordering::Relaxed), turn % SLOTS as u64);
        self.stripes.sum(|then| then % SLOTS as u64 == place && is_within(now, then))
    }

    /// Changes what is spent; the lock is held. A grant may come between, and counts.
    fn spend(&self, change: impl Fn(u64) -> u64) {
        let _ = self.grants.fetch_update(Ordering::AcqRel, Ordering::Relaxed, |grants| {
            Some((grants & !SPENT) | change(grants & SPENT))
        });
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
        let seen = steps.min(SLOTS as u64);
        (0..seen).for_each(|_| self.step());
        self.spend(|spent| self.plan.spent_after_idle(spent, steps - seen));
        self.start.store(start + steps * slot, Ordering::Release);
    }

    /// One turn: no more grants on the old counts, then the oldest slot leaves with its earnings, then
    /// the new one is there to count in.
    fn step(&self) {
        let before = self.turn.load(Ordering::Relaxed);
        let turn = (before + 1) % TURNS;
        let _ = self.grants.fetch_update(Ordering::AcqRel, Ordering::Relaxed, |grants| {
            Some(marked(turn) | (grants & SPENT))
        });
        let firsts = self.firsts(before);
        let left = capped(self.slot(turn).swap(0, Ordering::AcqRel)) + self.in_stripes(turn);
        self.spend(|spent| self.plan.spent_after(spent, firsts, left));
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

/// A turn in the upper bits of `grants`, as far as it fits.
const fn marked(turn: u64) -> u64 {
    turn << SPENT_BITS
}

/// The count in the word of a slot.
fn capped(slot: u64) -> u64 {
    slot.min(FULL_SLOT)
}
