//! Where a destination's budget and breaker remember.

use crate::breaker::{Admission, Breaker, Report, Ticket};
use crate::budget::{Budget, Charge, Paid, Settled};
use crate::entropy::Entropy;
use crate::policy::Policy;
use crate::time::Instant;

/// The memory of one destination, asked and told by every call to it.
///
/// The engine's own [`PlainLedger`] is for one thread; a shared one answers the same questions from
/// atomics, or from leases that it fetched in the background. No method waits.
pub trait Ledger {
    /// A call's first attempt starts.
    fn on_first(&mut self, now: Instant);
    /// Asks the budget; `None` refuses.
    fn ask(&mut self, now: Instant, charge: Charge) -> Option<Paid>;
    /// Gives back a grant that no attempt followed.
    fn refund(&mut self, now: Instant, paid: Paid);
    /// An attempt settled, as far as the budget cares.
    fn on_settled(&mut self, now: Instant, settled: Settled);
    /// Asks the breaker.
    fn admit(&mut self, now: Instant) -> Admission;
    /// An admitted attempt settled, as far as the breaker cares.
    fn report(&mut self, now: Instant, ticket: Ticket, report: Report, entropy: &mut dyn Entropy);
}

/// A budget and a breaker for one thread.
///
/// ```
/// use stagger_core::retry::{Ledger, PlainLedger};
/// use stagger_core::{budget::Charge, Instant, Policy};
/// let mut ledger = PlainLedger::new(&Policy::default());
/// let granted = (0..100).filter(|_| ledger.ask(Instant::ORIGIN, Charge::Retry).is_some()).count();
/// assert_eq!(granted, 10, "without first attempts, only the floor of one a second");
/// ```
#[derive(Clone, Debug)]
pub struct PlainLedger {
    budget: Budget,
    breaker: Option<Breaker>,
}

impl PlainLedger {
    /// An empty ledger for the budget and breaker of `policy`.
    #[must_use]
    pub fn new(policy: &Policy) -> Self {
        let breaker = policy.breaker().copied().map(Breaker::new);
        Self { budget: Budget::new(*policy.budget()), breaker }
    }

    /// The budget.
    #[must_use]
    pub const fn budget(&self) -> &Budget {
        &self.budget
    }

    /// The breaker, if the policy has one.
    #[must_use]
    pub const fn breaker(&self) -> Option<&Breaker> {
        self.breaker.as_ref()
    }
}

impl Ledger for PlainLedger {
    #[inline]
    fn on_first(&mut self, now: Instant) {
        self.budget.on_first(now);
    }

    #[inline]
    fn ask(&mut self, now: Instant, charge: Charge) -> Option<Paid> {
        self.budget.ask(now, charge)
    }

    fn refund(&mut self, now: Instant, paid: Paid) {
        self.budget.refund(now, paid);
    }

    #[inline]
    fn on_settled(&mut self, now: Instant, settled: Settled) {
        self.budget.on_settled(now, settled);
    }

    #[inline]
    fn admit(&mut self, now: Instant) -> Admission {
        match &mut self.breaker {
            Some(breaker) => breaker.admit(now),
            // The ledger of a policy without a breaker, asked by a policy with one: nothing is known
            // against the destination, and refusing would end every call to a healthy server.
            None => Admission::Admitted(Ticket::NEUTRAL),
        }
    }

    #[inline]
    fn report(&mut self, now: Instant, ticket: Ticket, report: Report, entropy: &mut dyn Entropy) {
        if let Some(breaker) = &mut self.breaker {
            // The state is read from the breaker itself; the transition is news for metrics only.
            let _ = breaker.report(now, ticket, report, &mut || entropy.next_u64());
        }
    }
}
