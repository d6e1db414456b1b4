//! The ledger of one destination, whose budget is the fleet's, and on request its breaker.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use stagger_core::breaker::{Admission, Report, StateKind, Ticket};
use stagger_core::budget::{Budget, BudgetPlan, Charge, Paid, Settled};
use stagger_core::retry::Ledger;
use stagger_core::{ConfigError, Entropy, Instant, Policy, Span};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::breaker::{FleetBreaker, Watcher};
use super::lease_client::LeaseClient;
use super::leased::Leased;
use super::options::part_of_key;
use super::{SharedStats, SharedStore};
use crate::ledger::LedgerStats;
use crate::ledger::breaker::LocalBreaker;
use crate::ledger::pause::LocalPause;

/// The budget of a whole fleet for one destination; and a breaker, which is this process's own unless
/// [`SharedOptions::with_shared_breaker`](super::SharedOptions::with_shared_breaker) shares it too.
///
/// `&SharedLedger` is a [`Ledger`], so it takes the place of a [`LocalLedger`](crate::LocalLedger) in
/// [`Retrier::with_ledger`](crate::Retrier::with_ledger). No call ever waits for the store: a retry
/// takes a permit that was leased before, or is refused.
///
/// - **Bound.** The fleet's retries never exceed what its plan allows by more than the permits that
///   processes hold, at most one and a half leases each. Time is the store's own, so no client's
///   clock matters. A store that lost its data starts as its plan says.
/// - **Away.** While the store does not answer, each process has what [`StoreFallback`](super::StoreFallback) says. A
///   first attempt earns once: from the store, or from the process's own share.
/// - **Price.** A charge that costs more than a retry takes as many permits as that, rounded up.
/// - **Crash.** The permits of a process that dies are lost, and never granted twice; dropped or
///   [closed](Self::close), it gives them back.
/// - **Breaker.** Shared, each process counts what it sees while it is closed. One that opens reports_outage the
///   store at once; the others hear it with their next request, which follows a call within the
///   patience of 500 ms. Half-open, a process admits a probe only while it holds one of the plan's,
///   each leased by the store until it is reported or the lease ends. While the store is unreachable each breaker
///   decides alone; back, open wins.
/// - **Pause.** A hint for the whole destination holds the calls of the process that received it. Other
///   processes do not learn it: each is held by the hints of its own calls.
///
/// A budget without limit, and one that grants nothing, need no store, and never ask it for permits.
#[derive(Debug)]
pub struct SharedLedger {
    guard: Guard,
    permits: Permits,
    pause: LocalPause,
    grants: AtomicU64,
    refusals: AtomicU64,
    refunds: AtomicU64,
    breaker_refusals: AtomicU64,
}

/// The breaker that admits an attempt.
#[derive(Debug)]
enum Guard {
    /// As the plain ledger: a policy without a breaker does not ask.
    None,
    Own(Box<LocalBreaker>),
    Fleet {
        breaker: Arc<FleetBreaker>,
        task: Task,
    },
}

type Task = Mutex<Option<JoinHandle<()>>>;

/// The source of permits.
#[derive(Debug)]
enum Permits {
    /// No process needs to share these.
    Own(BudgetPlan),
    Leased {
        leased: Arc<Leased>,
        task: Task,
    },
}

impl SharedStore {
    /// The ledger of the budget that the fleet calls `name`, under the plan of `policy`. Make one for
    /// each destination, and keep it: each leases for itself. The breaker is this process's own,
    /// unless the [options](super::SharedOptions::with_shared_breaker) share it under the same name.
    ///
    /// Its tasks run on the tokio runtime that this is called from, and end with the ledger.
    ///
    /// # Errors
    /// `shared.name` empty, longer than 200 bytes or with a brace; `shared.runtime` outside of a
    /// runtime.
    pub fn ledger(&self, name: &str, policy: &Policy) -> Result<Arc<SharedLedger>, ConfigError> {
        SharedLedger::new(self, name, policy)
    }
}

impl SharedLedger {
    fn new(store: &SharedStore, name: &str, policy: &Policy) -> Result<Arc<Self>, ConfigError> {
        let name = part_of_key("shared.name", name)?;
        let plan = *policy.budget();
        let leased = Arc::new(Leased::new(plan, store.options(), store.is_up()));
        let permits = match LeaseClient::new(Arc::clone(&leased), store.clone(), name, &plan) {
            None => Permits::Own(plan),
            Some(client) => Permits::Leased { leased, task: spawn(client.run())? },
        };
        let guard = match policy.breaker() {
            None => Guard::None,
            Some(plan) if store.options().shares_breaker() => {
                let breaker = Arc::new(FleetBreaker::new(*plan, store.options(), store.is_up()));
                let reports_outage = matches!(permits, Permits::Own(_));
                let watcher =
                    Watcher::new(Arc::clone(&breaker), store.clone(), name, plan, reports_outage);
                Guard::Fleet { breaker, task: spawn(watcher.run())? }
            }
            Some(plan) => Guard::Own(Box::new(LocalBreaker::new(*plan))),
        };
        Ok(Arc::new(Self {
            guard,
            permits,
            pause: LocalPause::new(),
            grants: AtomicU64::new(0),
            refusals: AtomicU64::new(0),
            refunds: AtomicU64::new(0),
            breaker_refusals: AtomicU64::new(0),
        }))
    }

    /// Its counters at `now`.
    #[must_use]
    pub fn stats(&self, now: Instant) -> SharedStats {
        let (level, leased) = match &self.permits {
            Permits::Own(plan) => (Budget::new(*plan).level(now), None),
            Permits::Leased { leased, .. } => (leased.level(now), Some(leased)),
        };
        let ledger = LedgerStats {
            level,
            grants: self.grants.load(Ordering::Relaxed),
            refusals: self.refusals.load(Ordering::Relaxed),
            refunds: self.refunds.load(Ordering::Relaxed),
            breaker: self.state(now),
            breaker_refusals: self.breaker_refusals.load(Ordering::Relaxed),
            breaker_opened: match &self.guard {
                Guard::None => 0,
                Guard::Own(breaker) => breaker.opened(),
                Guard::Fleet { breaker, .. } => breaker.opened(),
            },
        };
        let mut stats = SharedStats::unshared(ledger);
        if let Some(leased) = leased {
            let counters = &leased.counters;
            stats.permits = leased.permits();
            stats.leased = counters.leased.load(Ordering::Relaxed);
            stats.lease_denied = counters.lease_denied.load(Ordering::Relaxed);
            stats.store_down = leased.is_store_down();
            stats.store_outages = counters.outages.load(Ordering::Relaxed);
            stats.local_granted = counters.local_granted.load(Ordering::Relaxed);
            stats.answers = counters.answers.load(Ordering::Relaxed);
        }
        if let Guard::Fleet { breaker, .. } = &self.guard {
            stats.store_down |= breaker.is_store_down();
            stats.breaker_remote_moves = breaker.remote_moves();
            stats.probes_leased = breaker.probes_leased();
        }
        stats
    }

    /// The state of the breaker, if there is one.
    pub(in crate::ledger) fn state(&self, now: Instant) -> Option<StateKind> {
        match &self.guard {
            Guard::None => None,
            Guard::Own(breaker) => Some(breaker.state(now)),
            Guard::Fleet { breaker, .. } => Some(breaker.state(now)),
        }
    }

    /// Gives back what is left of the leases and reports the last events, for at most 1 s. From then on
    /// nothing is granted but by the process's own share, and its breaker is its own. Dropping a ledger
    /// does the same in the background, if its runtime lives long enough.
    pub async fn close(&self) {
        self.end();
        let tasks = [
            if let Permits::Leased { task, .. } = &self.permits { Some(task) } else { None },
            if let Guard::Fleet { task, .. } = &self.guard { Some(task) } else { None },
        ];
        for task in tasks.into_iter().flatten() {
            let task = task.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(task) = task {
                // It ends by itself; an error means that its runtime has ended it.
                let _ = task.await;
            }
        }
    }

    fn end(&self) {
        if let Permits::Leased { leased, .. } = &self.permits {
            leased.close();
        }
        if let Guard::Fleet { breaker, .. } = &self.guard {
            breaker.close();
        }
    }

    #[cold]
    fn admit_slowly(&self, now: Instant) -> Admission {
        let admission = match &self.guard {
            Guard::None => Admission::Admitted(Ticket::NEUTRAL),
            Guard::Own(breaker) => breaker.admit(now),
            Guard::Fleet { breaker, .. } => breaker.admit(now),
        };
        if matches!(admission, Admission::Refused { .. }) {
            count(&self.breaker_refusals);
        }
        admission
    }
}

impl Drop for SharedLedger {
    fn drop(&mut self) {
        self.end();
    }
}

impl Ledger for &SharedLedger {
    #[inline]
    fn on_first(&mut self, now: Instant) {
        if let Permits::Leased { leased, .. } = &self.permits {
            leased.on_first(now);
        }
    }

    #[inline]
    fn ask(&mut self, now: Instant, charge: Charge) -> Option<Paid> {
        let paid = match &self.permits {
            Permits::Leased { leased, .. } => leased.ask(now, charge),
            Permits::Own(BudgetPlan::Unlimited) => Some(Paid::FREE),
            Permits::Own(_) => None,
        };
        count(if paid.is_some() { &self.grants } else { &self.refusals });
        paid
    }

    fn refund(&mut self, now: Instant, paid: Paid) {
        // A first attempt that is cancelled gives back the nothing that it paid.
        if paid == Paid::FREE {
            return;
        }
        count(&self.refunds);
        if let Permits::Leased { leased, .. } = &self.permits {
            leased.refund(now, paid);
        }
    }

    #[inline]
    fn on_settled(&mut self, now: Instant, settled: Settled) {
        if let Permits::Leased { leased, .. } = &self.permits {
            leased.on_settled(now, settled);
        }
    }

    #[inline]
    fn admit(&mut self, now: Instant) -> Admission {
        let ticket = match &self.guard {
            Guard::None => None,
            Guard::Own(breaker) => breaker.admit_closed(now),
            Guard::Fleet { breaker, .. } => breaker.admit_closed(now),
        };
        match ticket {
            Some(ticket) => Admission::Admitted(ticket),
            None => self.admit_slowly(now),
        }
    }

    #[inline]
    fn report(&mut self, now: Instant, ticket: Ticket, report: Report, entropy: &mut dyn Entropy) {
        match &self.guard {
            Guard::None => {}
            Guard::Own(breaker) => breaker.report(now, ticket, report, entropy),
            Guard::Fleet { breaker, .. } => breaker.report(now, ticket, report, entropy),
        }
    }

    fn pause(&mut self, until: Instant, spread: Span, entropy: &mut dyn Entropy) {
        self.pause.extend(until, spread, entropy);
    }

    #[inline]
    fn paused_until(&mut self, now: Instant) -> Option<Instant> {
        self.pause.start_of_next(now)
    }
}

fn spawn(work: impl Future<Output = ()> + Send + 'static) -> Result<Task, ConfigError> {
    let runtime = Handle::try_current();
    let runtime =
        runtime.map_err(|_| ConfigError::new("shared.runtime", "none", "a runtime of tokio"))?;
    Ok(Mutex::new(Some(runtime.spawn(work))))
}

/// For metrics only: nothing is decided by it, so it may be seen late.
fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
