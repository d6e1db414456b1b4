//! The memory of a call's budget: in this process, or in a file of the host.

use std::sync::atomic::{AtomicBool, Ordering};

use stagger::LocalLedger;
use stagger::breaker::{Admission, Report, Ticket};
use stagger::budget::{Charge, Paid, Settled};
use stagger::retry::Ledger;
use stagger_core::{Entropy, Instant, Policy};

use super::budget_file::BudgetFile;

/// A ledger whose budget may be a file. Breakers are kept for this process only.
#[derive(Debug)]
pub(super) struct HostLedger {
    shared: Option<BudgetFile>,
    local: LocalLedger,
    refused: AtomicBool,
}

impl HostLedger {
    pub(super) fn new(policy: &Policy, shared: Option<BudgetFile>) -> Self {
        Self { shared, local: LocalLedger::new(policy), refused: AtomicBool::new(false) }
    }

    /// Whether the budget has refused a retry, which ends the call.
    pub(super) fn has_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }

    /// Why the file could not be asked, if it could not.
    pub(super) fn trouble(&self) -> Option<String> {
        self.shared.as_ref().and_then(BudgetFile::trouble)
    }
}

impl Ledger for &HostLedger {
    fn on_first(&mut self, now: Instant) {
        match &self.shared {
            Some(file) => file.on_first(),
            None => (&self.local).on_first(now),
        }
    }

    fn ask(&mut self, now: Instant, charge: Charge) -> Option<Paid> {
        let paid = match &self.shared {
            Some(file) => file.ask(charge),
            None => (&self.local).ask(now, charge),
        };
        self.refused.store(paid.is_none(), Ordering::Relaxed);
        paid
    }

    fn refund(&mut self, now: Instant, paid: Paid) {
        match &self.shared {
            Some(file) if paid != Paid::FREE => file.refund(paid),
            Some(_) => {}
            None => (&self.local).refund(now, paid),
        }
    }

    fn on_settled(&mut self, now: Instant, settled: Settled) {
        match &self.shared {
            Some(file) => file.on_settled(settled),
            None => (&self.local).on_settled(now, settled),
        }
    }

    fn admit(&mut self, now: Instant) -> Admission {
        (&self.local).admit(now)
    }

    fn report(&mut self, now: Instant, ticket: Ticket, report: Report, entropy: &mut dyn Entropy) {
        (&self.local).report(now, ticket, report, entropy);
    }
}
