//! At most n retries in any interval, for many threads.

use stagger_core::Instant;
use stagger_core::budget::{IntervalPlan, IntervalState, Level, Paid};

use super::sync::{AtomicU64, Mutex, MutexGuard, Ordering, PoisonError};

/// The engine's own state behind a lock, and a refusal that needs none in front of it.
///
/// There are at most sixteen grants an interval, so the lock is hardly ever taken; refusals, which
/// may be many, read two words. Decisions are made under the lock, so never too many are granted.
#[derive(Debug)]
pub(super) struct IntervalBudget {
    plan: IntervalPlan,
    /// The places' earliest and latest instant of readiness, in nanoseconds.
    earliest: AtomicU64,
    latest: AtomicU64,
    state: Mutex<IntervalState>,
}

impl IntervalBudget {
    pub(super) fn new(plan: IntervalPlan) -> Self {
        Self {
            plan,
            earliest: AtomicU64::new(0),
            latest: AtomicU64::new(0),
            state: Mutex::new(IntervalState::default()),
        }
    }

    pub(super) fn ask(&self, now: Instant) -> Option<Paid> {
        if self.refuses(now) {
            return None;
        }
        let mut state = self.lock();
        let paid = self.plan.ask(&mut state, now);
        self.publish(&state);
        paid
    }

    pub(super) fn refund(&self, paid: Paid) {
        let mut state = self.lock();
        self.plan.refund(&mut state, paid);
        self.publish(&state);
    }

    pub(super) fn level(&self, now: Instant) -> Level {
        self.plan.level(&self.lock(), now)
    }

    /// Whether no place is ready, and none is so far ahead that the clock must have been set back,
    /// which is the engine's to judge.
    fn refuses(&self, now: Instant) -> bool {
        let latest = Instant::from_nanos(self.latest.load(Ordering::Relaxed));
        let disorder = self.plan.interval().saturating_mul(2);
        now.as_nanos() < self.earliest.load(Ordering::Relaxed) && latest.since(now) <= disorder
    }

    /// Called with the lock held.
    fn publish(&self, state: &IntervalState) {
        let ready = self.plan.ready(state).iter().map(|ready| ready.as_nanos());
        let (earliest, latest) =
            ready.fold((u64::MAX, 0), |(low, high), one| (low.min(one), high.max(one)));
        self.earliest.store(earliest, Ordering::Relaxed);
        self.latest.store(latest, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, IntervalState> {
        // Nothing panics while it is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
