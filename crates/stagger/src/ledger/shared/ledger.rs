//! The ledger of one destination, whose budget is the fleet's.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use stagger_core::breaker::{Admission, Report, StateKind, Ticket};
use stagger_core::budget::{BudgetPlan, Charge, Paid, Settled};
use stagger_core::retry::Ledger;
use stagger_core::{ConfigError, Entropy, Instant, Policy};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::leased::Leased;
use super::lessee::Lessee;
use super::options::part_of_key;
use super::{SharedStats, SharedStore};
use crate::ledger::LedgerStats;
use crate::ledger::local::LocalLedger;

/// The budget of a whole fleet for one destination, and this process's own breaker for it.
///
/// `&SharedLedger` is a [`Ledger`], so it takes the place of a [`LocalLedger`] in
/// [`Retrier::with_ledger`](crate::Retrier::with_ledger). No call ever waits for the store: a retry
/// takes a permit that was leased before, or is refused.
///
/// - **Bound.** The fleet's retries never exceed what its plan allows by more than the permits that
///   processes hold, at most one and a half leases each. Time is the store's own, so no client's
///   clock matters. A store that lost its data starts as its plan says.
/// - **Away.** While the store does not answer, each process has what [`Away`](super::Away) says. A
///   first attempt earns once: from the store, or from the process's own share.
/// - **Price.** A charge that costs more than a retry takes as many permits as that, rounded up.
/// - **Crash.** The permits of a process that dies are lost, and never granted twice; dropped or
///   [closed](Self::close), it gives them back.
///
/// A budget without limit, and one that grants nothing, need no store, and never ask it.
#[derive(Debug)]
pub struct SharedLedger {
    /// The breaker, and a budget that nobody asks.
    local: LocalLedger,
    permits: Permits,
    grants: AtomicU64,
    refusals: AtomicU64,
    refunds: AtomicU64,
}

/// Where permits come from.
#[derive(Debug)]
enum Permits {
    /// Nobody needs to share these.
    Own(BudgetPlan),
    Leased {
        leased: Arc<Leased>,
        task: Mutex<Option<JoinHandle<()>>>,
    },
}

impl SharedLedger {
    pub(super) fn new(
        store: &SharedStore,
        name: &str,
        policy: &Policy,
    ) -> Result<Arc<Self>, ConfigError> {
        let name = part_of_key("shared.name", name)?;
        let plan = *policy.budget();
        let leased = Arc::new(Leased::new(plan, store.options(), store.is_up()));
        let permits = match Lessee::new(Arc::clone(&leased), store.clone(), name, &plan) {
            None => Permits::Own(plan),
            Some(lessee) => Permits::Leased { leased, task: Mutex::new(Some(spawn(lessee)?)) },
        };
        Ok(Arc::new(Self {
            local: LocalLedger::of(BudgetPlan::None, policy),
            permits,
            grants: AtomicU64::new(0),
            refusals: AtomicU64::new(0),
            refunds: AtomicU64::new(0),
        }))
    }

    /// Its figures at `now`.
    #[must_use]
    pub fn stats(&self, now: Instant) -> SharedStats {
        let mut ledger = LedgerStats {
            grants: self.grants.load(Ordering::Relaxed),
            refusals: self.refusals.load(Ordering::Relaxed),
            refunds: self.refunds.load(Ordering::Relaxed),
            ..self.local.stats(now)
        };
        let Permits::Leased { leased, .. } = &self.permits else {
            return SharedStats::unshared(ledger);
        };
        ledger.level = leased.level(now);
        let figures = &leased.figures;
        SharedStats {
            ledger,
            permits: leased.permits(),
            leased: figures.leased.load(Ordering::Relaxed),
            withheld: figures.withheld.load(Ordering::Relaxed),
            away: leased.is_away(),
            went_away: figures.went_away.load(Ordering::Relaxed),
            own_grants: figures.own_grants.load(Ordering::Relaxed),
            answers: figures.answers.load(Ordering::Relaxed),
        }
    }

    /// Where the breaker stands, if there is one.
    pub(in crate::ledger) fn state(&self, now: Instant) -> Option<StateKind> {
        self.local.state(now)
    }

    /// Gives back what is left of the lease and tells the last news, for at most 1 s. From then on
    /// nothing is granted but by the process's own share. Dropping a ledger does the same in the
    /// background, if its runtime lives long enough.
    pub async fn close(&self) {
        let Permits::Leased { leased, task } = &self.permits else { return };
        leased.close();
        let task = task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            // It ends by itself; an error means that its runtime has ended it.
            let _ = task.await;
        }
    }
}

impl Drop for SharedLedger {
    fn drop(&mut self) {
        if let Permits::Leased { leased, .. } = &self.permits {
            leased.close();
        }
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
        (&self.local).admit(now)
    }

    #[inline]
    fn report(&mut self, now: Instant, ticket: Ticket, report: Report, entropy: &mut dyn Entropy) {
        (&self.local).report(now, ticket, report, entropy);
    }
}

fn spawn(lessee: Lessee) -> Result<JoinHandle<()>, ConfigError> {
    let runtime = Handle::try_current();
    let runtime =
        runtime.map_err(|_| ConfigError::new("shared.runtime", "none", "a runtime of tokio"))?;
    Ok(runtime.spawn(lessee.run()))
}

/// For metrics only: nothing is decided by it, so it may be seen late.
fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
