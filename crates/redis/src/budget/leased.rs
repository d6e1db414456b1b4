//! Permits that this process has leased, on atomics: what calls ask instead of the store.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use stagger::Instant;
use stagger::budget::BudgetPlan;
use stagger::engine::budget::{Budget, Charge, Level, Paid, Settled};

use super::permits::Permits;
use super::script::{BudgetAnswer, BudgetEvents};
use crate::options::SharedOptions;
use crate::wake::Wake;

/// The mark of a leased permit; no budget of the engine's marks a grant so.
const LEASED: u32 = u32::MAX;
const CHARGES: [Charge; 4] = [Charge::Retry, Charge::Timeout, Charge::Throttled, Charge::Hedge];
/// The most that one request reports of a kind: keeps the script's numbers exact. The rest waits.
const MOST: u64 = (1 << 32) - 1;

/// A process's share of the store, and what it has not reported yet.
///
/// A retry takes leased permits or is refused: it never waits for the store. When half a lease is
/// used up another one is asked for.
#[derive(Debug)]
pub(crate) struct Leased {
    plan: BudgetPlan,
    /// Permits that a lease has: enough for two of the dearest charge.
    lease: u64,
    permits: Permits,
    events: EventCounters,
    store_down: AtomicBool,
    /// The fleet's level as the store reported it last: retries, held, capacity.
    level: [AtomicU64; 3],
    pub(crate) counters: LeaseCounters,
    pub(crate) wake: Wake,
}

/// Counters for metrics alone.
#[derive(Debug, Default)]
pub(crate) struct LeaseCounters {
    pub(crate) leased: AtomicU64,
    pub(crate) lease_denied: AtomicU64,
    pub(crate) outages: AtomicU64,
    pub(crate) answers: AtomicU64,
}

/// The events since the last request, counted by many threads.
#[derive(Debug, Default)]
struct EventCounters {
    firsts: AtomicU64,
    first_tries: AtomicU64,
    after_retry: AtomicU64,
    failed: AtomicU64,
}

impl Leased {
    /// No permits yet, and the store not known to be there unless it `is_up`.
    pub(crate) fn new(plan: BudgetPlan, options: &SharedOptions, is_up: bool) -> Self {
        let dearest = CHARGES.map(|charge| price(&plan, charge)).into_iter().max().unwrap_or(1);
        let least = if dearest > 1 { 2 * u64::from(dearest) } else { 1 };
        let start = Budget::new(plan).level(Instant::ORIGIN);
        Self {
            plan,
            lease: u64::from(options.lease()).max(least),
            permits: Permits::new(),
            events: EventCounters::default(),
            store_down: AtomicBool::new(!is_up),
            level: [start.retries, start.held, start.capacity].map(AtomicU64::new),
            counters: LeaseCounters::default(),
            wake: Wake::default(),
        }
    }

    #[inline]
    pub(crate) fn on_first(&self) {
        self.note(&self.events.firsts, 1);
    }

    /// Takes the leased permits of a charge, if there are enough.
    #[inline]
    pub(crate) fn ask(&self, charge: Charge) -> Option<Paid> {
        let price = price(&self.plan, charge);
        let left = self.permits.take(u64::from(price));
        if left.unwrap_or(0) <= self.lease / 2 {
            self.wake.urge();
        }
        left.map(|_| Paid::new(price, LEASED))
    }

    /// Takes back leased permits; whether `paid` was any.
    pub(crate) fn refund(&self, paid: Paid) -> bool {
        let is_leased = paid.mark() == LEASED;
        if is_leased {
            self.permits.put(u64::from(paid.amount()));
        }
        is_leased
    }

    /// Notes what the store should know, and returns what this process's own budget should: of a leased
    /// permit that knows nothing, and the store nothing of its permits.
    #[inline]
    pub(crate) fn on_settled(&self, settled: Settled) -> Settled {
        match settled {
            Settled::FirstTry => self.note(&self.events.first_tries, 1),
            Settled::AfterRetry(paid) if paid.mark() == LEASED => {
                self.note(&self.events.after_retry, u64::from(paid.amount()));
                return Settled::AfterRetry(Paid::FREE);
            }
            Settled::AfterRetry(_) => {}
            Settled::Failed => self.note(&self.events.failed, 1),
        }
        settled
    }

    /// Replaces `level` by that of the fleet, as the store reported it last.
    pub(crate) fn fill(&self, level: &mut Level) {
        let [retries, held, capacity] = &self.level;
        level.retries = retries.load(Ordering::Relaxed);
        level.held = held.load(Ordering::Relaxed);
        level.capacity = capacity.load(Ordering::Relaxed);
    }

    pub(crate) fn is_store_down(&self) -> bool {
        self.store_down.load(Ordering::Acquire)
    }

    pub(crate) fn permits(&self) -> u64 {
        self.permits.count()
    }

    /// The number of permits in a lease, if the next one is due.
    pub(super) fn wanted(&self) -> u64 {
        if self.permits() <= self.lease / 2 { self.lease } else { 0 }
    }

    pub(super) fn has_events(&self) -> bool {
        let EventCounters { firsts, first_tries, after_retry, failed } = &self.events;
        [firsts, first_tries, after_retry, failed].iter().any(|it| it.load(Ordering::Relaxed) > 0)
    }

    /// The events since the last request.
    pub(super) fn take_events(&self) -> BudgetEvents {
        BudgetEvents {
            firsts: take(&self.events.firsts),
            first_tries: take(&self.events.first_tries),
            after_retry: take(&self.events.after_retry),
            failed: take(&self.events.failed),
        }
    }

    /// First attempts from before the store became unreachable earn nothing any more.
    pub(super) fn forget_firsts(&self) {
        self.events.firsts.store(0, Ordering::Relaxed);
    }

    /// The permits that are left, which then are no more.
    pub(super) fn take_permits(&self) -> u64 {
        self.permits.take_all()
    }

    pub(super) fn answered(&self, wanted: u64, answer: &BudgetAnswer) {
        for (level, latest) in self.level.iter().zip(answer.level) {
            level.store(latest, Ordering::Relaxed);
        }
        count(&self.counters.answers, 1);
        count(&self.counters.leased, answer.granted);
        count(&self.counters.lease_denied, wanted.saturating_sub(answer.granted));
        self.permits.put(answer.granted);
        self.store_down.store(false, Ordering::Release);
    }

    pub(super) fn store_lost(&self) {
        if !self.store_down.swap(true, Ordering::AcqRel) {
            count(&self.counters.outages, 1);
        }
    }

    fn note(&self, counter: &AtomicU64, times: u64) {
        count(counter, times);
        self.wake.note();
    }
}

/// The permits that a charge takes: those of a retry that costs as much, rounded up.
#[inline]
fn price(plan: &BudgetPlan, charge: Charge) -> u32 {
    match plan {
        BudgetPlan::Tokens(plan) => plan.cost(charge).div_ceil(plan.cost(Charge::Retry)),
        _ => 1,
    }
}

fn count(counter: &AtomicU64, times: u64) {
    counter.fetch_add(times, Ordering::Relaxed);
}

fn take(count: &AtomicU64) -> u64 {
    let some = count.load(Ordering::Relaxed).min(MOST);
    count.fetch_sub(some, Ordering::Relaxed);
    some
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_for_one_request_waits_for_the_next() {
        let options = SharedOptions::new(1).expect("one node");
        let leased = Leased::new(BudgetPlan::Unlimited, &options, true);
        leased.events.failed.store(MOST + 5, Ordering::Relaxed);
        let events = [leased.take_events(), leased.take_events(), leased.take_events()];
        assert_eq!(events.map(|events| events.failed), [MOST, 5, 0]);
        assert!(!leased.has_events());
    }
}
