//! A ledger, and the longest that a call had to wait for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use stagger::breaker::{Admission, Report, Ticket};
use stagger::budget::{Charge, Paid, Settled};
use stagger::retry::Ledger;
use stagger::{Clock, Entropy, Instant, StdTime};

/// Notes how long the ledger takes to answer, by the wall clock: whatever the machine does besides
/// is in it.
#[derive(Debug)]
pub(super) struct Timed<L> {
    pub(super) ledger: Arc<L>,
    longest_us: AtomicU64,
}

impl<L> Timed<L> {
    pub(super) fn new(ledger: Arc<L>) -> Self {
        Self { ledger, longest_us: AtomicU64::new(0) }
    }

    /// The longest since this was asked last.
    pub(super) fn take_longest(&self) -> u64 {
        self.longest_us.swap(0, Ordering::Relaxed)
    }

    fn time<T>(&self, work: impl FnOnce(&L) -> T) -> T {
        let begun = StdTime.now();
        let answer = work(&self.ledger);
        let took = StdTime.now() - begun;
        self.longest_us.fetch_max(took.as_nanos() / 1_000, Ordering::Relaxed);
        answer
    }
}

impl<L> Ledger for &Timed<L>
where
    for<'l> &'l L: Ledger,
{
    fn on_first(&mut self, now: Instant) {
        self.time(|mut ledger| ledger.on_first(now));
    }

    fn ask(&mut self, now: Instant, charge: Charge) -> Option<Paid> {
        self.time(|mut ledger| ledger.ask(now, charge))
    }

    fn refund(&mut self, now: Instant, paid: Paid) {
        self.time(|mut ledger| ledger.refund(now, paid));
    }

    fn on_settled(&mut self, now: Instant, settled: Settled) {
        self.time(|mut ledger| ledger.on_settled(now, settled));
    }

    fn admit(&mut self, now: Instant) -> Admission {
        self.time(|mut ledger| ledger.admit(now))
    }

    fn report(&mut self, now: Instant, ticket: Ticket, report: Report, entropy: &mut dyn Entropy) {
        self.time(|mut ledger| ledger.report(now, ticket, report, entropy));
    }
}
