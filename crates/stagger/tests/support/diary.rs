//! A ledger that writes down what it is asked and told.

use std::sync::Mutex;
use std::task::Waker;

use stagger::adaptive::{AdaptiveReport, Pacing};
use stagger::breaker::Report;
use stagger::engine::breaker::{Admission, Ticket};
use stagger::engine::budget::{Charge, Paid, Settled};
use stagger::engine::{Entrance, Ledger, LimitPermit};
use stagger::{Entropy, Instant, LocalLedger, Policy, Span};

/// A ledger with its history.
#[derive(Debug)]
pub(crate) struct Diary {
    ledger: LocalLedger,
    lines: Mutex<Vec<Line>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    First,
    Granted,
    Refused,
    Refunded,
    Settled(Settled),
    Admitted,
    NotAdmitted,
    Reported(Report),
}

impl Diary {
    pub(crate) fn new(policy: &Policy) -> Self {
        Self { ledger: LocalLedger::new(policy), lines: Mutex::default() }
    }

    /// The lines since the last look.
    pub(crate) fn take(&self) -> Vec<Line> {
        std::mem::take(&mut self.lines.lock().expect("no test panics while it writes"))
    }

    fn write(&self, line: Line) {
        self.lines.lock().expect("no test panics while it writes").push(line);
    }
}

impl Ledger for &Diary {
    fn on_first(&mut self, now: Instant) {
        self.write(Line::First);
        (&self.ledger).on_first(now);
    }

    fn ask(&mut self, now: Instant, charge: Charge) -> Option<Paid> {
        let paid = (&self.ledger).ask(now, charge);
        self.write(if paid.is_some() { Line::Granted } else { Line::Refused });
        paid
    }

    fn refund(&mut self, now: Instant, paid: Paid) {
        if paid != Paid::FREE {
            self.write(Line::Refunded);
        }
        (&self.ledger).refund(now, paid);
    }

    fn on_settled(&mut self, now: Instant, settled: Settled) {
        self.write(Line::Settled(settled));
        (&self.ledger).on_settled(now, settled);
    }

    fn admit(&mut self, now: Instant) -> Admission {
        let admission = (&self.ledger).admit(now);
        let admitted = admission.ticket().is_some();
        self.write(if admitted { Line::Admitted } else { Line::NotAdmitted });
        admission
    }

    fn pace(&mut self, now: Instant) -> Pacing {
        (&self.ledger).pace(now)
    }

    fn on_paced(&mut self, now: Instant, report: AdaptiveReport) {
        (&self.ledger).on_paced(now, report);
    }

    fn enter(&mut self, now: Instant, permit: &mut LimitPermit, longest: Span) -> Entrance {
        (&self.ledger).enter(now, permit, longest)
    }

    fn leave(&mut self, now: Instant, permit: LimitPermit) {
        (&self.ledger).leave(now, permit);
    }

    fn watch(&mut self, permit: &LimitPermit, waker: &Waker) -> bool {
        (&self.ledger).watch(permit, waker)
    }

    fn report(&mut self, now: Instant, ticket: Ticket, report: Report, entropy: &mut dyn Entropy) {
        self.write(Line::Reported(report));
        (&self.ledger).report(now, ticket, report, entropy);
    }
}
