//! Permits that this process has leased, on atomics: what calls ask instead of the store.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use stagger_core::Instant;
use stagger_core::budget::{Budget, BudgetPlan, Charge, Level, Paid, Settled};
use tokio::sync::Notify;

use super::StoreFallback;
use super::event_counters::{BudgetEvents, EventCounters};
use super::options::SharedOptions;
use super::permits::Permits;
use super::script::BudgetAnswer;
use crate::ledger::budget::LocalBudget;

/// The mark of a leased permit; no budget of the engine's marks a grant so.
const LEASED: u32 = u32::MAX;
const CHARGES: [Charge; 4] = [Charge::Retry, Charge::Timeout, Charge::Throttled, Charge::Hedge];

/// A process's share of the store, and what it has not reported yet.
///
/// A retry takes leased permits or is refused: it never waits for the store. When half a lease is
/// used up another one is asked for. A first attempt earns once: from the store, or, while that is
/// unreachable, from the process's own budget.
#[derive(Debug)]
pub(super) struct Leased {
    plan: BudgetPlan,
    /// Permits that a lease has: enough for two of the dearest charge.
    lease: u64,
    permits: Permits,
    events: EventCounters,
    store_down: AtomicBool,
    /// For when the store is unreachable.
    own: Option<LocalBudget>,
    /// The fleet's level as the store reported it last: retries, held, capacity.
    level: [AtomicU64; 3],
    pub(super) counters: LeaseCounters,
    /// Whether the lease client knows that there are events, and that permits run out: so that a call wakes it
    /// once, and not again before it has looked.
    events_pending: AtomicBool,
    low: AtomicBool,
    closed: AtomicBool,
    wake: Notify,
}

/// EventCounters for metrics alone.
#[derive(Debug, Default)]
pub(super) struct LeaseCounters {
    pub(super) leased: AtomicU64,
    pub(super) lease_denied: AtomicU64,
    pub(super) outages: AtomicU64,
    pub(super) local_granted: AtomicU64,
    pub(super) answers: AtomicU64,
}

impl Leased {
    /// No permits yet, and the store not known to be there unless it `is_up`.
    pub(super) fn new(plan: BudgetPlan, options: &SharedOptions, is_up: bool) -> Self {
        let own = match options.fallback() {
            StoreFallback::Local { nodes } => Some(LocalBudget::new(plan.share_of(nodes))),
            StoreFallback::Refuse => None,
        };
        let dearest = CHARGES.map(|charge| price(&plan, charge)).into_iter().max().unwrap_or(1);
        let least = if dearest > 1 { 2 * u64::from(dearest) } else { 1 };
        let start = Budget::new(plan).level(Instant::ORIGIN);
        Self {
            plan,
            lease: u64::from(options.lease()).max(least),
            permits: Permits::new(),
            events: EventCounters::default(),
            store_down: AtomicBool::new(!is_up),
            own,
            level: [start.retries, start.held, start.capacity].map(AtomicU64::new),
            counters: LeaseCounters::default(),
            events_pending: AtomicBool::new(false),
            low: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            wake: Notify::new(),
        }
    }

    #[inline]
    pub(super) fn on_first(&self, now: Instant) {
        if self.is_store_down() {
            if let Some(own) = &self.own {
                own.on_first(now);
            }
        } else {
            self.note(&self.events.firsts, 1);
        }
    }

    #[inline]
    pub(super) fn ask(&self, now: Instant, charge: Charge) -> Option<Paid> {
        let price = price(&self.plan, charge);
        let left = self.permits.take(u64::from(price));
        if left.unwrap_or(0) <= self.lease / 2 {
            self.wake_once(&self.low);
        }
        if left.is_some() {
            return Some(Paid::new(price, LEASED));
        }
        if !self.is_store_down() {
            return None;
        }
        let paid = self.own.as_ref()?.ask(now, charge)?;
        count(&self.counters.local_granted, 1);
        Some(paid)
    }

    pub(super) fn refund(&self, now: Instant, paid: Paid) {
        if paid.mark() == LEASED {
            self.permits.put(u64::from(paid.amount()));
        } else if let Some(own) = &self.own {
            own.refund(now, paid);
        }
    }

    #[inline]
    pub(super) fn on_settled(&self, now: Instant, settled: Settled) {
        let own = match settled {
            Settled::FirstTry => {
                self.note(&self.events.first_tries, 1);
                settled
            }
            Settled::AfterRetry(paid) if paid.mark() == LEASED => {
                self.note(&self.events.after_retry, u64::from(paid.amount()));
                Settled::AfterRetry(Paid::FREE)
            }
            // A permit of the process's own, of which the store knows nothing.
            Settled::AfterRetry(_) => settled,
            Settled::Failed => {
                self.note(&self.events.failed, 1);
                settled
            }
        };
        if let Some(budget) = &self.own {
            budget.on_settled(now, own);
        }
    }

    /// The level of the budget that the next retry asks.
    pub(super) fn level(&self, now: Instant) -> Level {
        if let (true, Some(own)) = (self.is_store_down(), &self.own) {
            return own.level(now);
        }
        let mut level = Budget::new(BudgetPlan::None).level(now);
        let [retries, held, capacity] = &self.level;
        level.retries = retries.load(Ordering::Relaxed);
        level.held = held.load(Ordering::Relaxed);
        level.capacity = capacity.load(Ordering::Relaxed);
        level
    }

    pub(super) fn is_store_down(&self) -> bool {
        self.store_down.load(Ordering::Acquire)
    }

    pub(super) fn permits(&self) -> u64 {
        self.permits.count()
    }

    /// Ends the lease: the lease client gives back what it can.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.wake.notify_one();
    }

    /// The number of permits in a lease, if the next one is due.
    pub(super) fn wanted(&self) -> u64 {
        if self.permits() <= self.lease / 2 { self.lease } else { 0 }
    }

    pub(super) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Whether a call wants the lease client to look.
    pub(super) fn is_called(&self) -> bool {
        self.events_pending.load(Ordering::SeqCst) || self.low.load(Ordering::SeqCst)
    }

    /// The lease client has looked: from here on a call wakes it again.
    pub(super) fn looked(&self) {
        self.events_pending.store(false, Ordering::SeqCst);
        self.low.store(false, Ordering::SeqCst);
    }

    /// The events since the last request.
    pub(super) fn take_events(&self) -> BudgetEvents {
        self.events.take()
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

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Ready when a call, or the end, wants the lease client to look.
    pub(super) async fn woken(&self) {
        self.wake.notified().await;
    }

    fn note(&self, counter: &AtomicU64, times: u64) {
        count(counter, times);
        self.wake_once(&self.events_pending);
    }

    /// A load, and nothing more, unless it is the first since the lease client looked. A processor may let
    /// a call miss that the lease client has just looked; then the next call wakes it.
    #[inline]
    fn wake_once(&self, flag: &AtomicBool) {
        if !flag.load(Ordering::Relaxed) && !flag.swap(true, Ordering::SeqCst) {
            self.wake.notify_one();
        }
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
