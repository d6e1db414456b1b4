//! The first attempt, in as few bytes as it can be kept.
//!
//! Nearly every call ends with its first attempt, and every call under way is a future that holds
//! this. So until that attempt has settled, a call keeps what its session was started with rather
//! than the session: the engine gives the same one for the same start.

use stagger_core::breaker::{Admission, BreakerPlan, Report, Ticket};
use stagger_core::budget::{Charge, Paid, Settled};
use stagger_core::retry::{Act, Call, Launched, Ledger, Session};
use stagger_core::{Entropy, Instant, Outcome, Policy, Span};

use super::clock_precision::ClockPrecision;
use crate::clock::Clock;

/// The facts that a session was started with: under a policy, or with whatever finds that policy again.
#[derive(Clone, Copy)]
pub(super) struct FirstAttempt<P> {
    pub(super) policy: P,
    started: Instant,
    since: Since,
    ticket: Option<Ticket>,
    idempotent: bool,
}

/// A reason not to start the first attempt of a call.
pub(super) enum Obstacle {
    /// The breaker, which must not be asked twice: for [`refused`].
    Breaker(Admission),
    /// The pause of the destination.
    Pause,
}

/// The known start of the first attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Since {
    /// A moment ago, by a clock that may lag a little; the attempt has not been seen to take time.
    Recent,
    /// A moment ago, to the nanosecond; the attempt has not been seen to take time.
    Now,
    /// Some time ago: the attempt takes time.
    Before,
}

impl<P> FirstAttempt<P> {
    /// The same with another word for its policy.
    #[cfg(feature = "tower")]
    pub(super) fn under<Q>(self, policy: Q) -> FirstAttempt<Q> {
        let Self { policy: _, started, since, ticket, idempotent } = self;
        FirstAttempt { policy, started, since, ticket, idempotent }
    }

    /// The attempt takes time, as it turns out; from here on, if it was not known to the nanosecond
    /// when it started.
    pub(super) fn takes_time(&mut self, clock: &impl Clock) {
        if self.since == Since::Recent {
            self.started = clock.now();
        }
        self.since = Since::Before;
    }
}

impl<'r> FirstAttempt<&'r Policy> {
    /// Starts a call as [`Session::start`] does, without a session, when nothing stands before its
    /// first attempt.
    ///
    /// # Errors
    /// What stands before it, which is for the session to settle.
    #[inline]
    pub(super) fn start(
        policy: &'r Policy,
        ledger: &mut impl Ledger,
        call: Call,
        (now, since): (Instant, Since),
    ) -> Result<Self, Obstacle> {
        if policy.hints().is_shared() && ledger.paused_until(now).is_some() {
            return Err(Obstacle::Pause);
        }
        let mut ticket = None;
        if policy.breaker().is_some() {
            match ledger.admit(now) {
                Admission::Admitted(admitted) => ticket = Some(admitted),
                refusal @ Admission::Refused { .. } => return Err(Obstacle::Breaker(refusal)),
            }
        }
        ledger.on_first(now);
        Ok(Self { policy, started: now, since, ticket, idempotent: call.idempotent })
    }

    /// The session of the attempt under way, without asking anybody twice.
    pub(super) fn session(self) -> (Session<'r>, Option<Launched>) {
        let call = if self.idempotent { Call::idempotent() } else { Call::once() };
        let nobody = Admission::Refused { until: Instant::FAR };
        let mut heard = Heard(self.ticket.map_or(nobody, Admission::Admitted));
        match Session::start(self.policy, &mut heard, call, self.started) {
            (session, Act::Call(launched)) => (session, Some(launched)),
            (session, _) => (session, None),
        }
    }

    /// The attempt succeeded. Tells the ledger what the session would, which has nothing else to do
    /// then. An attempt that was ready at once ended when it started, as far as a window's slots can
    /// tell; so the clock is read again only for one that took time, or where a breaker judges how
    /// much. It is read as exactly as the policy needs it.
    #[inline]
    pub(super) fn succeed(
        self,
        ledger: &mut impl Ledger,
        (clock, precision): (&impl Clock, ClockPrecision),
        outcome: &Outcome,
        entropy: &mut dyn Entropy,
    ) {
        let mut now = self.started;
        if let Some(ticket) = self.ticket {
            let minds_time = self.policy.breaker().and_then(BreakerPlan::slow_calls).is_some();
            if minds_time || self.since == Since::Before {
                now = if precision == ClockPrecision::Exact {
                    clock.now()
                } else {
                    now.max(clock.recent())
                };
            }
            ledger.report(now, ticket, Report::of(outcome), entropy);
        }
        ledger.on_settled(now, Settled::FirstTry);
    }

    /// The time limit of the attempt.
    pub(super) fn timeout(&self) -> Option<Span> {
        self.policy.limits().first_attempt_limit()
    }
}

/// The session of a call whose breaker refused its first attempt, and what it makes of that.
#[cold]
pub(super) fn refused(
    policy: &Policy,
    refusal: Admission,
    call: Call,
    now: Instant,
) -> (Session<'_>, Act) {
    Session::start(policy, &mut Heard(refusal), call, now)
}

/// The ledger of a start whose breaker has answered already.
struct Heard(Admission);

impl Ledger for Heard {
    fn admit(&mut self, _: Instant) -> Admission {
        self.0
    }

    // A first attempt was counted when it started, and a start asks for and settles nothing else.
    fn on_first(&mut self, _: Instant) {}

    fn ask(&mut self, _: Instant, _: Charge) -> Option<Paid> {
        None
    }

    fn refund(&mut self, _: Instant, _: Paid) {}

    fn on_settled(&mut self, _: Instant, _: Settled) {}

    fn report(&mut self, _: Instant, _: Ticket, _: Report, _: &mut dyn Entropy) {}
}
