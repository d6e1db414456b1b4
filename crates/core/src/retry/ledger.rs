//! The ledger: the state of a destination's budget and breaker.

use crate::breaker::{Admission, Breaker, Report, Ticket};
use crate::budget::{Budget, Charge, Paid, Settled};
use crate::entropy::Entropy;
use crate::hint::DestinationPause;
use crate::policy::Policy;
use crate::time::{Instant, Span};

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
    /// The server asks all callers to stay away until `until`; those that wait start within `spread`
    /// after that. Told only under a policy whose hints are for the destination. Default: forgets it.
    fn pause(&mut self, until: Instant, spread: Span, entropy: &mut dyn Entropy) {
        let _ = (until, spread, entropy);
    }
    /// Returns the start of an attempt that is ready at `now`, while the destination is paused. Asked only
    /// under such a policy. Default: never paused.
    fn paused_until(&mut self, now: Instant) -> Option<Instant> {
        let _ = now;
        None
    }
}

/// A budget and a breaker for one thread.
///
/// ```
/// use stagger_core::retry::{Ledger, PlainLedger};
/// use stagger_core::{budget::Charge, Instant, Policy};
/// let mut ledger = PlainLedger::new(&Policy::default());
/// let granted = (0..100).filter(|_| ledger.ask(Instant::ORIGIN, Charge::Retry).is_some()).count();
/// assert_eq!(granted, 2, "without first attempts, those in hand at rest");
/// ```
#[derive(Clone, Debug)]
pub struct PlainLedger {
    budget: Budget,
    breaker: Option<Breaker>,
    pause: DestinationPause,
}

impl PlainLedger {
    /// An empty ledger for the budget and breaker of `policy`.
    #[must_use]
    pub fn new(policy: &Policy) -> Self {
        let breaker = policy.breaker().copied().map(Breaker::new);
        let budget = Budget::new(*policy.budget());
        Self { budget, breaker, pause: DestinationPause::NONE }
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

    fn pause(&mut self, until: Instant, spread: Span, entropy: &mut dyn Entropy) {
        self.pause.extend(until, spread, entropy.next_u64());
    }

    fn paused_until(&mut self, now: Instant) -> Option<Instant> {
        self.pause.start_of_next(now)
    }
}
