//! One process's ledger, whichever kind it is.

use stagger_core::breaker::{Admission, Breaker, Report, Ticket};
use stagger_core::budget::{Charge, Paid, Settled};
use stagger_core::retry::{Ledger, PlainLedger};
use stagger_core::{Entropy, Instant};

use super::deposit::Bucket;
use super::leased::Leased;
use super::lifetime::Lifetime;
use crate::streams::Stream;

/// A ledger with its own source of chance, so that an open breaker takes no word from a delay.
#[derive(Clone, Debug)]
pub(crate) struct Book {
    kind: Kind,
    /// The policy's, where the ledger is not the engine's, which has it inside.
    breaker: Option<Box<Breaker>>,
    draws: Stream,
    number: u32,
    drawn: u32,
}

/// The kinds of ledger.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// Grants everything: for policies that neither have a budget nor a breaker.
    Free,
    Engine(PlainLedger),
    Deposit(Bucket),
    Lifetime(Lifetime),
    Leased(Box<Leased>),
}

impl Book {
    pub(super) const fn new(
        kind: Kind,
        breaker: Option<Box<Breaker>>,
        draws: Stream,
        number: u32,
    ) -> Self {
        Self { kind, breaker, draws, number, drawn: 0 }
    }

    /// The lease of this process, if its permits come from a store.
    pub(crate) fn leased(&mut self) -> Option<&mut Leased> {
        match &mut self.kind {
            Kind::Leased(leased) => Some(leased),
            _ => None,
        }
    }
}

impl Ledger for Book {
    #[inline]
    fn on_first(&mut self, now: Instant) {
        match &mut self.kind {
            Kind::Free => {}
            Kind::Engine(ledger) => ledger.on_first(now),
            Kind::Deposit(bucket) => bucket.on_first(),
            Kind::Lifetime(_) => {}
            Kind::Leased(leased) => leased.on_first(now),
        }
    }

    fn ask(&mut self, now: Instant, charge: Charge) -> Option<Paid> {
        match &mut self.kind {
            Kind::Free => Some(Paid::FREE),
            Kind::Engine(ledger) => ledger.ask(now, charge),
            Kind::Deposit(bucket) => bucket.ask(),
            Kind::Lifetime(lifetime) => lifetime.ask(),
            Kind::Leased(leased) => leased.ask(now, charge),
        }
    }

    fn refund(&mut self, now: Instant, paid: Paid) {
        match &mut self.kind {
            Kind::Free | Kind::Lifetime(_) => {}
            Kind::Engine(ledger) => ledger.refund(now, paid),
            Kind::Deposit(bucket) => bucket.refund(paid),
            Kind::Leased(leased) => leased.refund(now, paid),
        }
    }

    #[inline]
    fn on_settled(&mut self, now: Instant, settled: Settled) {
        match &mut self.kind {
            Kind::Free => {}
            Kind::Engine(ledger) => ledger.on_settled(now, settled),
            Kind::Deposit(bucket) => bucket.on_settled(settled),
            Kind::Lifetime(lifetime) => lifetime.on_settled(settled),
            Kind::Leased(leased) => leased.on_settled(now, settled),
        }
    }

    fn admit(&mut self, now: Instant) -> Admission {
        match (&mut self.kind, &mut self.breaker) {
            (Kind::Engine(ledger), _) => ledger.admit(now),
            (_, Some(breaker)) => breaker.admit(now),
            // A policy without a breaker never asks.
            (_, None) => Admission::Refused { until: now },
        }
    }

    fn report(&mut self, now: Instant, ticket: Ticket, report: Report, _: &mut dyn Entropy) {
        self.drawn += 1;
        let mut draw = self.draws.at(self.number, self.drawn);
        match (&mut self.kind, &mut self.breaker) {
            (Kind::Engine(ledger), _) => ledger.report(now, ticket, report, &mut draw),
            (_, Some(breaker)) => {
                // The state is read from the breaker itself; the transition is news for metrics.
                let _ = breaker.report(now, ticket, report, &mut draw);
            }
            (_, None) => {}
        }
    }
}
