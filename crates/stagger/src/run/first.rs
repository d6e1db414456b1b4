//! The first attempt, in as few bytes as it can be kept.
//!
//! Nearly every call ends with its first attempt, and every call under way is a future that holds
//! this. So until that attempt has settled, a call keeps what its session was started with rather
//! than the session: the engine gives the same one for the same start.

use stagger_core::breaker::{Admission, Report, Ticket};
use stagger_core::budget::{Charge, Paid, Settled};
use stagger_core::retry::{Act, Call, Launched, Ledger, PlainLedger, Session};
use stagger_core::{Entropy, Instant, Outcome, Policy, Span};

use crate::clock::Clock;

/// What a session was started with: under a policy, or with whatever finds that policy again.
#[derive(Clone, Copy)]
pub(super) struct First<P> {
    pub(super) policy: P,
    started: Instant,
    ticket: Option<Ticket>,
    idempotent: bool,
}

impl<P> First<P> {
    /// The same with another word for its policy.
    #[cfg(feature = "tower")]
    pub(super) fn under<Q>(self, policy: Q) -> First<Q> {
        let Self { policy: _, started, ticket, idempotent } = self;
        First { policy, started, ticket, idempotent }
    }
}

impl<'r> First<&'r Policy> {
    /// Starts a call, and says what starts it again.
    pub(super) fn start(
        policy: &'r Policy,
        ledger: &mut impl Ledger,
        call: Call,
        now: Instant,
    ) -> (Self, Session<'r>, Act) {
        let mut asked = Asked { ledger: Some(ledger), ticket: None };
        let (session, act) = Session::start(policy, &mut asked, call, now);
        let first =
            Self { policy, started: now, ticket: asked.ticket, idempotent: call.idempotent };
        (first, session, act)
    }

    /// The same session and the same attempt again, without asking anybody twice.
    pub(super) fn again(self) -> (Session<'r>, Option<Launched>) {
        let call = if self.idempotent { Call::idempotent() } else { Call::once() };
        let mut asked = Asked { ledger: None::<&mut PlainLedger>, ticket: self.ticket };
        match Session::start(self.policy, &mut asked, call, self.started) {
            (session, Act::Call(launched)) => (session, Some(launched)),
            (session, _) => (session, None),
        }
    }

    /// The attempt succeeded. Tells the ledger what the session would, which has nothing else to do
    /// then. Only a breaker wants to know when, so only for a breaker is the clock read again.
    pub(super) fn succeed(
        self,
        ledger: &mut impl Ledger,
        clock: &impl Clock,
        outcome: &Outcome,
        entropy: &mut dyn Entropy,
    ) {
        let mut now = self.started;
        if let Some(ticket) = self.ticket {
            now = clock.now();
            ledger.report(now, ticket, Report::of(outcome), entropy);
        }
        ledger.on_settled(now, Settled::FirstTry);
    }

    /// How long the attempt may take.
    pub(super) fn timeout(&self) -> Option<Span> {
        let limits = self.policy.limits();
        limits.attempt_timeout().into_iter().chain(limits.deadline()).min()
    }
}

/// The ledger of a start: it remembers the breaker's ticket, or answers with the one remembered.
struct Asked<'l, L> {
    ledger: Option<&'l mut L>,
    ticket: Option<Ticket>,
}

impl<L: Ledger> Ledger for Asked<'_, L> {
    fn on_first(&mut self, now: Instant) {
        if let Some(ledger) = &mut self.ledger {
            ledger.on_first(now);
        }
    }

    fn admit(&mut self, now: Instant) -> Admission {
        match (&mut self.ledger, self.ticket) {
            (Some(ledger), _) => {
                let admission = ledger.admit(now);
                self.ticket = admission.ticket();
                admission
            }
            (None, Some(ticket)) => Admission::Admitted(ticket),
            (None, None) => Admission::Refused { until: Instant::FAR },
        }
    }

    // A start asks no budget and settles nothing.
    fn ask(&mut self, _: Instant, _: Charge) -> Option<Paid> {
        None
    }

    fn refund(&mut self, _: Instant, _: Paid) {}

    fn on_settled(&mut self, _: Instant, _: Settled) {}

    fn report(&mut self, _: Instant, _: Ticket, _: Report, _: &mut dyn Entropy) {}
}
