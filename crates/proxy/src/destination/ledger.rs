//! The ledger of one destination: this process's own, or one that a fleet shares in Redis.

use std::sync::Arc;
use std::task::Waker;

use stagger::adaptive::{AdaptiveReport, Pacing};
use stagger::breaker::{Report, StateKind};
use stagger::engine::breaker::{Admission, Ticket};
use stagger::engine::budget::{Charge, Level, Paid, Settled};
use stagger::engine::{Entrance, Ledger, LimitPermit};
use stagger::{Entropy, Instant, KeptLedger, LedgerStats, LocalLedger, Policy, Span};
use stagger_redis::SharedLedger;

/// The budget, the breaker and the limits of one destination, and the time that its server asked all callers to stay
/// away for.
///
/// The time belongs to the destination: routes with other policies, and so with other budgets, keep to it too.
#[derive(Clone, Debug)]
pub struct DestinationLedger {
    kind: LedgerKind,
    /// Asked about nothing but the pause.
    hints: Arc<LocalLedger>,
}

#[derive(Clone, Debug)]
enum LedgerKind {
    /// Of this proxy alone.
    Local(Arc<LocalLedger>),
    /// Of all proxies of a fleet.
    Shared(Arc<SharedLedger>),
}

impl DestinationLedger {
    /// An empty ledger of this proxy alone.
    #[must_use]
    pub fn local(policy: &Policy) -> Self {
        Self::from(Arc::new(LocalLedger::new(policy)))
    }

    /// The same ledger with the pause of its destination, which others have too.
    pub(super) fn pausing_by(self, hints: Arc<LocalLedger>) -> Self {
        Self { hints, ..self }
    }

    /// Its figures at `now`.
    #[must_use]
    pub fn stats(&self, now: Instant) -> LedgerStats {
        match &self.kind {
            LedgerKind::Local(ledger) => ledger.stats(now),
            LedgerKind::Shared(ledger) => ledger.stats(now).ledger,
        }
    }

    /// The ledger that a fleet shares, if it is one.
    #[must_use]
    pub const fn shared(&self) -> Option<&Arc<SharedLedger>> {
        match &self.kind {
            LedgerKind::Local(_) => None,
            LedgerKind::Shared(ledger) => Some(ledger),
        }
    }
}

/// A ledger of this proxy alone.
impl From<Arc<LocalLedger>> for DestinationLedger {
    fn from(ledger: Arc<LocalLedger>) -> Self {
        let hints = Arc::clone(&ledger);
        Self { kind: LedgerKind::Local(ledger), hints }
    }
}

/// A ledger of a fleet, whose pause is this proxy's own.
impl From<Arc<SharedLedger>> for DestinationLedger {
    fn from(ledger: Arc<SharedLedger>) -> Self {
        let hints = Arc::new(LocalLedger::new(&Policy::default()));
        Self { kind: LedgerKind::Shared(ledger), hints }
    }
}

impl KeptLedger for DestinationLedger {
    fn breaker_state(&self, now: Instant) -> Option<StateKind> {
        match &self.kind {
            LedgerKind::Local(ledger) => ledger.breaker_state(now),
            LedgerKind::Shared(ledger) => ledger.breaker_state(now),
        }
    }
}

/// Asks the one of both.
macro_rules! ask {
    ($ledger:expr, $method:ident $(, $argument:expr)*) => {
        match &$ledger.kind {
            LedgerKind::Local(ledger) => (&mut &**ledger).$method($($argument),*),
            LedgerKind::Shared(ledger) => (&mut &**ledger).$method($($argument),*),
        }
    };
}

impl Ledger for &DestinationLedger {
    fn on_first(&mut self, now: Instant) {
        ask!(self, on_first, now);
    }

    fn ask(&mut self, now: Instant, charge: Charge) -> Option<Paid> {
        ask!(self, ask, now, charge)
    }

    fn level(&mut self, now: Instant) -> Option<Level> {
        ask!(self, level, now)
    }

    fn refund(&mut self, now: Instant, paid: Paid) {
        ask!(self, refund, now, paid);
    }

    fn on_settled(&mut self, now: Instant, settled: Settled) {
        ask!(self, on_settled, now, settled);
    }

    fn admit(&mut self, now: Instant) -> Admission {
        ask!(self, admit, now)
    }

    fn report(&mut self, now: Instant, ticket: Ticket, report: Report, entropy: &mut dyn Entropy) {
        ask!(self, report, now, ticket, report, entropy);
    }

    fn pace(&mut self, now: Instant) -> Pacing {
        ask!(self, pace, now)
    }

    fn on_paced(&mut self, now: Instant, report: AdaptiveReport) {
        ask!(self, on_paced, now, report);
    }

    fn enter(&mut self, now: Instant, permit: &mut LimitPermit, longest: Span) -> Entrance {
        ask!(self, enter, now, permit, longest)
    }

    fn leave(&mut self, now: Instant, permit: LimitPermit) {
        ask!(self, leave, now, permit);
    }

    fn watch(&mut self, permit: &LimitPermit, waker: &Waker) -> bool {
        ask!(self, watch, permit, waker)
    }

    fn pause(&mut self, until: Instant, spread: Span, entropy: &mut dyn Entropy) {
        (&mut &*self.hints).pause(until, spread, entropy);
    }

    fn paused_until(&mut self, now: Instant) -> Option<Instant> {
        (&mut &*self.hints).paused_until(now)
    }
}
