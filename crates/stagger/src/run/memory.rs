//! What the calls to one destination share: its budget and its breaker.

use std::sync::{Mutex, MutexGuard, PoisonError};

use stagger_core::breaker::{Admission, Report, Ticket};
use stagger_core::budget::{Charge, Paid, Settled};
use stagger_core::retry::{Ledger, PlainLedger};
use stagger_core::{Entropy, Instant, Policy};

/// The budget and breaker of one destination, behind a lock, for any number of calls at once.
///
/// ```
/// use stagger::retry::Ledger;
/// use stagger::{budget::{BudgetPlan, Charge}, Instant, LocalLedger, Policy};
/// let policy = Policy::builder().budget(BudgetPlan::None).build()?;
/// let ledger = LocalLedger::new(&policy);
/// assert_eq!((&ledger).ask(Instant::ORIGIN, Charge::Retry), None);
/// # Ok::<(), stagger::ConfigError>(())
/// ```
#[derive(Debug)]
pub struct LocalLedger {
    plain: Mutex<PlainLedger>,
}

impl LocalLedger {
    /// An empty ledger for the budget and breaker of `policy`.
    #[must_use]
    pub fn new(policy: &Policy) -> Self {
        Self { plain: Mutex::new(PlainLedger::new(policy)) }
    }

    fn lock(&self) -> MutexGuard<'_, PlainLedger> {
        // A panic cannot leave it half changed: the engine's transitions do not panic.
        self.plain.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ledger for &LocalLedger {
    fn on_first(&mut self, now: Instant) {
        self.lock().on_first(now);
    }

    fn ask(&mut self, now: Instant, charge: Charge) -> Option<Paid> {
        self.lock().ask(now, charge)
    }

    fn refund(&mut self, now: Instant, paid: Paid) {
        self.lock().refund(now, paid);
    }

    fn on_settled(&mut self, now: Instant, settled: Settled) {
        self.lock().on_settled(now, settled);
    }

    fn admit(&mut self, now: Instant) -> Admission {
        self.lock().admit(now)
    }

    fn report(&mut self, now: Instant, ticket: Ticket, report: Report, entropy: &mut dyn Entropy) {
        self.lock().report(now, ticket, report, entropy);
    }
}
