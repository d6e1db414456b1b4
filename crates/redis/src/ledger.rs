//! The ledger of one destination, whose budget is the fleet's, and on request its breaker.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;

use stagger::adaptive::{AdaptiveReport, Pacing};
use stagger::breaker::{Report, StateKind};
use stagger::budget::BudgetPlan;
use stagger::engine::breaker::{Admission, Ticket};
use stagger::engine::budget::{Charge, Paid, Settled};
use stagger::engine::{Entrance, Ledger, LimitPermit};
use stagger::{ConfigError, Entropy, Instant, KeptLedger, LocalLedger, Policy, Span};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::breaker::{FleetBreaker, Watcher};
use crate::budget::{LeaseClient, Leased};
use crate::events::EventLog;
use crate::options::{StoreFallback, part_of_key};
use crate::stats::SharedStats;
use crate::store::SharedStore;

/// The budget of a whole fleet for one destination; and a breaker, which is this process's own unless
/// [`SharedOptions::with_shared_breaker`](crate::SharedOptions::with_shared_breaker) shares it too.
///
/// `&SharedLedger` is a [`Ledger`], so it takes the place of a [`LocalLedger`] in
/// [`Retrier::with_ledger`](stagger::Retrier::with_ledger). No call ever waits for the store: a retry
/// takes a permit that was leased before, or is refused.
///
/// - **Bound.** The fleet's retries never exceed what its plan allows by more than the permits that
///   processes hold, at most one and a half leases each. Time is the store's own, so no client's
///   clock matters. A store that lost its data starts as its plan says.
/// - **Away.** While the store does not answer, each process has what [`StoreFallback`] says. A
///   first attempt earns once: from the store, or from the process's own share.
/// - **Price.** A charge that costs more than a retry takes as many permits as that, rounded up.
/// - **Crash.** The permits of a process that dies are lost, and never granted twice; dropped or
///   [closed](Self::close), it gives them back.
/// - **Breaker.** Shared, each process counts what it sees while it is closed. One that opens tells the
///   store at once; the others hear it with their next request, which follows a call within the
///   patience of 500 ms. Half-open, a process admits a probe only while it holds one of the plan's,
///   each leased by the store until it is reported or the lease ends. While the store is unreachable each breaker
///   decides alone; back, open wins.
/// - **Pause.** A hint for the whole destination holds the calls of the process that received it. Other
///   processes do not learn it: each is held by the hints of its own calls.
/// - **Adaptive limit.** Each process has its own: it follows the replies that the process itself gets.
/// - **Concurrency limit, rate limit.** Each process has its own: an attempt that waits for a place is
///   woken by one of its process. Give each its share of what the destination takes.
///
/// A budget without limit, and one that grants nothing, need no store, and never ask it for permits.
#[derive(Debug)]
pub struct SharedLedger {
    /// This process's own: the budget while the store is unreachable, or of a plan that nothing needs to
    /// share; the breaker of this process; the pause, and the limits.
    local: Arc<LocalLedger>,
    leased: Option<Arc<Leased>>,
    fleet: Option<Arc<FleetBreaker>>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
    fallback: StoreFallback,
    grants: AtomicU64,
    refusals: AtomicU64,
    refunds: AtomicU64,
}

impl SharedStore {
    /// The ledger of the budget that the fleet calls `name`, under the plan of `policy`. Make one for
    /// each destination, and keep it: each leases for itself. The breaker is this process's own,
    /// unless the [options](crate::SharedOptions::with_shared_breaker) share it under the same name.
    ///
    /// Its tasks run on the tokio runtime that this is called from, and end with the ledger.
    ///
    /// # Errors
    /// `shared.name` empty, longer than 200 bytes or with a brace; `shared.runtime` outside of a
    /// runtime.
    pub fn ledger(&self, name: &str, policy: &Policy) -> Result<Arc<SharedLedger>, ConfigError> {
        let name = part_of_key("shared.name", name)?;
        let (options, plan) = (self.options(), *policy.budget());
        let log = Arc::new(EventLog::new(name, self));
        let mut tasks = Vec::new();
        let mut local = policy.to_builder();

        let leased = Arc::new(Leased::new(plan, options, self.is_up()));
        let client =
            LeaseClient::new(Arc::clone(&leased), self.clone(), Arc::clone(&log), name, &plan);
        let is_leased = client.is_some();
        if let Some(client) = client {
            tasks.push(spawn(client.run())?);
            local = local.budget(match options.fallback() {
                StoreFallback::Local { nodes } => plan.share_of(nodes),
                StoreFallback::Refuse => BudgetPlan::None,
            });
        }
        let local = Arc::new(LocalLedger::new(&local.build()?));
        let mut fleet = None;
        if let Some(plan) = policy.breaker().filter(|_| options.shares_breaker()) {
            let breaker = FleetBreaker::new(*plan, options, self.is_up(), Arc::clone(&local));
            let breaker = Arc::new(breaker);
            let watcher = Watcher::new(Arc::clone(&breaker), self.clone(), log, name, plan);
            tasks.push(spawn(watcher.run())?);
            fleet = Some(breaker);
        }
        Ok(Arc::new(SharedLedger {
            local,
            leased: is_leased.then_some(leased),
            fleet,
            tasks: Mutex::new(tasks),
            fallback: options.fallback(),
            grants: AtomicU64::new(0),
            refusals: AtomicU64::new(0),
            refunds: AtomicU64::new(0),
        }))
    }
}

impl SharedLedger {
    /// Its counters at `now`.
    #[must_use]
    pub fn stats(&self, now: Instant) -> SharedStats {
        let ledger = self.local.stats(now);
        let mut stats = SharedStats::unshared(ledger);
        if let Some(leased) = &self.leased {
            let counters = &leased.counters;
            stats.store_down = leased.is_store_down();
            if !stats.store_down || self.fallback == StoreFallback::Refuse {
                leased.fill(&mut stats.ledger.level);
            }
            stats.local_granted = ledger.grants;
            stats.permits = leased.permits();
            stats.leased = counters.leased.load(Ordering::Relaxed);
            stats.lease_denied = counters.lease_denied.load(Ordering::Relaxed);
            stats.store_outages = counters.outages.load(Ordering::Relaxed);
            stats.answers = counters.answers.load(Ordering::Relaxed);
        }
        stats.ledger.grants += self.grants.load(Ordering::Relaxed);
        stats.ledger.refusals += self.refusals.load(Ordering::Relaxed);
        stats.ledger.refunds += self.refunds.load(Ordering::Relaxed);
        if let Some(fleet) = &self.fleet {
            fleet.fill(&mut stats, now);
        }
        stats
    }

    /// Gives back what is left of the leases and reports the last events, for at most 1 s. From then on
    /// nothing is granted but by the process's own share, and its breaker is its own. Dropping a ledger
    /// does the same in the background, if its runtime lives long enough.
    pub async fn close(&self) {
        self.end();
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        for task in tasks {
            // It ends by itself; an error means that its runtime has ended it.
            let _ = task.await;
        }
    }

    fn end(&self) {
        if let Some(leased) = &self.leased {
            leased.wake.close();
        }
        if let Some(fleet) = &self.fleet {
            fleet.wake.close();
        }
    }
}

impl Drop for SharedLedger {
    fn drop(&mut self) {
        self.end();
    }
}

impl KeptLedger for SharedLedger {
    fn breaker_state(&self, now: Instant) -> Option<StateKind> {
        match &self.fleet {
            Some(fleet) => Some(fleet.state(now)),
            None => self.local.breaker_state(now),
        }
    }
}

impl Ledger for &SharedLedger {
    #[inline]
    fn on_first(&mut self, now: Instant) {
        match &self.leased {
            Some(leased) if !leased.is_store_down() => leased.on_first(),
            _ => (&*self.local).on_first(now),
        }
    }

    #[inline]
    fn ask(&mut self, now: Instant, charge: Charge) -> Option<Paid> {
        let Some(leased) = &self.leased else { return (&*self.local).ask(now, charge) };
        let paid = leased.ask(charge);
        if paid.is_none() && leased.is_store_down() {
            return (&*self.local).ask(now, charge);
        }
        count(if paid.is_some() { &self.grants } else { &self.refusals });
        paid
    }

    fn refund(&mut self, now: Instant, paid: Paid) {
        // A first attempt that is cancelled gives back the nothing that it paid.
        if paid == Paid::FREE {
            return;
        }
        if self.leased.as_ref().is_some_and(|leased| leased.refund(paid)) {
            count(&self.refunds);
        } else {
            (&*self.local).refund(now, paid);
        }
    }

    #[inline]
    fn on_settled(&mut self, now: Instant, settled: Settled) {
        let own = self.leased.as_ref().map_or(settled, |leased| leased.on_settled(settled));
        (&*self.local).on_settled(now, own);
    }

    #[inline]
    fn admit(&mut self, now: Instant) -> Admission {
        match &self.fleet {
            Some(fleet) => fleet.admit(now),
            None => (&*self.local).admit(now),
        }
    }

    #[inline]
    fn report(&mut self, now: Instant, ticket: Ticket, report: Report, entropy: &mut dyn Entropy) {
        match &self.fleet {
            Some(fleet) => fleet.report(now, ticket, report, entropy),
            None => (&*self.local).report(now, ticket, report, entropy),
        }
    }

    fn pace(&mut self, now: Instant) -> Pacing {
        (&*self.local).pace(now)
    }

    fn on_paced(&mut self, now: Instant, report: AdaptiveReport) {
        (&*self.local).on_paced(now, report);
    }

    fn enter(&mut self, now: Instant, permit: &mut LimitPermit, longest: Span) -> Entrance {
        (&*self.local).enter(now, permit, longest)
    }

    fn leave(&mut self, now: Instant, permit: LimitPermit) {
        (&*self.local).leave(now, permit);
    }

    fn watch(&mut self, permit: &LimitPermit, waker: &Waker) -> bool {
        (&*self.local).watch(permit, waker)
    }

    fn pause(&mut self, until: Instant, spread: Span, entropy: &mut dyn Entropy) {
        (&*self.local).pause(until, spread, entropy);
    }

    #[inline]
    fn paused_until(&mut self, now: Instant) -> Option<Instant> {
        (&*self.local).paused_until(now)
    }
}

fn spawn(work: impl Future<Output = ()> + Send + 'static) -> Result<JoinHandle<()>, ConfigError> {
    let runtime = Handle::try_current();
    let runtime =
        runtime.map_err(|_| ConfigError::new("shared.runtime", "none", "a runtime of tokio"))?;
    Ok(runtime.spawn(work))
}

/// For metrics only: nothing is decided by it, so it may be seen late.
fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
