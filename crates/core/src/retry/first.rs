//! A call during its first attempt: nearly every call ends with it, so it is kept in few bytes.

use super::{Action, Call, Done, Launched, Ledger, Permit, Retry, Session, Step, Stop};
use crate::breaker::{Admission, BreakerPlan, Report, Ticket};
use crate::budget::Settled;
use crate::entropy::Entropy;
use crate::outcome::Outcome;
use crate::policy::Policy;
use crate::time::{Instant, Span};

/// A call whose first attempt is under way, for drivers that keep a [`Session`] only once it is needed.
///
/// It is a fifth of a session's size. A call that succeeds with its first attempt needs no more; any
/// other call goes on as the [`session`](Self::session), which is the one that [`Session::start`] would
/// have given.
///
/// ```
/// use stagger_core::retry::{Action, Call, FirstAttempt, PlainLedger, Stop};
/// use stagger_core::{budget::BudgetPlan, Instant, Outcome, Policy, Verdict};
/// let policy = Policy::builder().budget(BudgetPlan::None).build()?;
/// let (mut ledger, now) = (PlainLedger::new(&policy), Instant::ORIGIN);
/// let first = FirstAttempt::start(&policy, &mut ledger, Call::idempotent(), now);
/// let first = first.expect("nothing stands before the first attempt");
///
/// let (mut session, launched) = first.session(&policy);
/// let failed = Outcome::new(Verdict::Transient);
/// let act = session.on_outcome(&mut ledger, now, launched, &failed, &mut || 0);
/// assert!(matches!(act, Action::Done(done) if done.stop == Stop::BudgetEmpty));
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstAttempt {
    /// The start of the call. A driver that learns it more exactly later may move it.
    pub started: Instant,
    ticket: Option<Ticket>,
    idempotent: bool,
}

/// A first attempt that may not start now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the call has yet to be ended or held"]
pub struct FirstRefused {
    /// The instant until which the breaker refuses; `None` if it was not asked.
    by_breaker: Option<Instant>,
}

impl FirstRefused {
    /// The session of the call, and its next action. The arguments are those of the start.
    #[cold]
    pub fn session<'p>(
        self,
        policy: &'p Policy,
        ledger: &mut (impl Ledger + ?Sized),
        call: Call,
        now: Instant,
    ) -> (Session<'p>, Action) {
        match self.by_breaker {
            // The breaker must not be asked twice.
            Some(until) => Session::refused(policy, (call, until), ledger, now),
            None => Session::start(policy, ledger, call, now),
        }
    }
}

impl FirstAttempt {
    /// Begins a call under `policy`, with the ledger told as by [`Session::start`].
    ///
    /// # Errors
    /// The breaker or the destination's pause keeps the first attempt from starting, or the policy has a
    /// limit, which only a session asks. The error gives the session of the call.
    #[inline(always)]
    pub fn start(
        policy: &Policy,
        ledger: &mut (impl Ledger + ?Sized),
        call: Call,
        now: Instant,
    ) -> Result<Self, FirstRefused> {
        let paused = policy.hints().is_shared() && ledger.paused_until(now).is_some();
        if paused || policy.limits_first() {
            return Err(FirstRefused { by_breaker: None });
        }
        let mut ticket = None;
        if policy.breaker().is_some() {
            match ledger.admit(now) {
                Admission::Admitted(admitted) => ticket = Some(admitted),
                Admission::Refused { until } => {
                    return Err(FirstRefused { by_breaker: Some(until) });
                }
            }
        }
        ledger.on_first(now);
        Ok(Self { started: now, ticket, idempotent: call.idempotent })
    }

    /// The session of the call, with the attempt under way. `policy` is that of the start.
    #[must_use]
    pub fn session(self, policy: &Policy) -> (Session<'_>, Launched) {
        let call = if self.idempotent { Call::idempotent() } else { Call::once() };
        let (mut retry, mut step) = Retry::start(policy, call, self.started);
        if let Step::Ask(_) = step {
            step = retry.on_permit(policy, self.started, Permit::Granted);
        }
        let Step::Act(Action::Attempt(attempt)) = step else {
            unreachable!("a granted call starts with an attempt")
        };
        (Session::waiting(policy, retry), Launched::free(attempt, self.ticket))
    }

    /// Whether the end of a successful attempt is reported with the time: a breaker under `policy` judges
    /// how long calls take.
    #[must_use]
    #[inline]
    pub fn is_timed(&self, policy: &Policy) -> bool {
        policy.breaker().and_then(BreakerPlan::slow_calls).is_some()
    }

    /// Whether the end of a successful attempt is reported to a breaker.
    #[must_use]
    #[inline]
    pub const fn is_reported(&self) -> bool {
        self.ticket.is_some()
    }

    /// The attempt succeeded at `now`, and the call ends: tells the ledger what the session would, and returns the
    /// same end.
    #[inline]
    pub fn succeed(
        self,
        ledger: &mut (impl Ledger + ?Sized),
        now: Instant,
        outcome: &Outcome,
        entropy: &mut dyn Entropy,
    ) -> Done {
        if let Some(ticket) = self.ticket {
            ledger.report(now, ticket, Report::of(outcome), entropy);
        }
        ledger.on_settled(now, Settled::FirstTry);
        let (stop, elapsed) = (Stop::Succeeded, now - self.started);
        Done { stop, attempts: 1, elapsed, hint: None, pause: Span::ZERO }
    }
}
