//! A call between two attempts: written down for another process, or kept in the fewest words.

use super::machine::{Phase, Spent};
use super::start::Start;
use super::{Retry, Session, Step, Stop};
use crate::hedge::Hedging;
use crate::policy::Policy;
use crate::time::{Instant, Span};

/// The state of a call relative to the moment it was saved, so that it outlives the clock it ran on.
///
/// An attempt that was under way counts as made, and its outcome is lost. The resumed call goes
/// straight on to the next attempt if there is one left, unless the call is not idempotent: then it
/// ends, because the server may have acted on it.
///
/// ```
/// use stagger_core::retry::{Action, Call, Retry, Step};
/// use stagger_core::{budget::BudgetPlan, Instant, Outcome, Policy, Span, Verdict};
/// let policy = Policy::builder().budget(BudgetPlan::Unlimited).build()?;
/// let (mut call, _) = Retry::start(&policy, Call::idempotent(), Instant::ORIGIN);
/// let failed = Outcome::new(Verdict::Transient);
/// let _ = call.on_outcome(&policy, Instant::ORIGIN, &failed, &mut || u64::MAX);
/// let saved = call.save(Instant::ORIGIN + Span::from_millis(40));
/// assert_eq!(saved.wait, Span::from_millis(60));
///
/// let restart = Instant::from_nanos(7); // another process, another clock
/// let (mut call, _) = saved.resume(&policy, restart);
/// let step = call.on_wake(&policy, restart + Span::from_millis(60));
/// assert!(matches!(step, Step::Act(Action::Attempt(attempt)) if attempt.number == 2));
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Saved {
    /// Attempts made that count.
    pub attempts: u32,
    /// Delays drawn since the exponent last started.
    pub retries: u32,
    /// Time since the call began.
    pub elapsed: Span,
    /// The remaining wait.
    pub wait: Span,
    /// The last delay that was drawn.
    pub prev: Span,
    /// Flags: which remedies are used up, and whether the server forbade further attempts.
    pub spent: u8,
    /// Whether an attempt was under way, so that its outcome is lost.
    pub under_way: bool,
    /// Whether the call may be repeated.
    pub idempotent: bool,
}

impl Saved {
    /// Goes on with the call under `policy`; the time between saving and resuming does not count.
    ///
    /// The remaining deadline is the same on any clock, also on one younger than the call.
    pub fn resume(self, policy: &Policy, now: Instant) -> (Retry, Step) {
        Retry::resumed(policy, now, &self)
    }
}

impl Retry {
    /// The call as it stands at `now`.
    #[must_use]
    pub fn save(&self, now: Instant) -> Saved {
        Saved {
            attempts: self.attempts,
            retries: self.retries,
            elapsed: self.elapsed(now),
            wait: self.wake - now,
            prev: self.prev,
            spent: self.spent.0,
            under_way: self.is_running(),
            idempotent: self.idempotent,
        }
    }

    /// A call that goes on after it was saved: it waits out the rest of its delay.
    fn resumed(policy: &Policy, now: Instant, saved: &Saved) -> (Self, Step) {
        let mut retry = Self {
            started: Start::before(now, saved.elapsed),
            wake: now + saved.wait,
            prev: saved.prev,
            hedging: Hedging::plan(policy.hedge(), None),
            attempts: saved.attempts,
            retries: saved.retries,
            phase: Phase::Waiting,
            spent: Spent(saved.spent),
            remedy: None,
            idempotent: saved.idempotent,
        };
        let step = retry.go_on(policy, now, saved.under_way);
        (retry, step)
    }

    /// The first step after a resume. The outcome of an attempt that was under way is lost: it may
    /// have been the last one, or one that must not happen twice.
    fn go_on(&mut self, policy: &Policy, now: Instant, under_way: bool) -> Step {
        if under_way && !self.idempotent {
            return self.end(now, Stop::NotIdempotent, None);
        }
        if !policy.limits().attempts_left(self.attempts) {
            return self.end(now, Stop::AttemptsExhausted, None);
        }
        if now < self.wake { self.wait() } else { self.on_wake(policy, now) }
    }
}

/// A call between two attempts of which nothing is left but this: no permit held, no hint
/// remembered, no remedy used, no copy under way.
///
/// Nothing is lost: [`unpark`](Self::unpark) gives the session that [`Session::park`] was called on.
/// Unlike [`Saved`](super::Saved) it stays on its clock, and a call that has more to remember has no
/// parked form.
///
/// ```
/// use stagger_core::retry::{Action, Call, PlainLedger, Session};
/// use stagger_core::{budget::BudgetPlan, Instant, Outcome, Policy, Verdict};
/// let policy = Policy::builder().budget(BudgetPlan::Unlimited).build()?;
/// let mut ledger = PlainLedger::new(&policy);
/// let (mut call, act) = Session::start(&policy, &mut ledger, Call::idempotent(), Instant::ORIGIN);
/// let Action::Attempt(first) = act else { panic!("nothing stands before the first attempt") };
/// assert_eq!(call.park(), None, "an attempt is under way");
///
/// let failed = Outcome::new(Verdict::Transient);
/// let _ = call.on_outcome(&mut ledger, Instant::ORIGIN, first, &failed, &mut || 7);
/// let parked = call.park().expect("it waits");
/// assert_eq!((parked.attempts, parked.retries), (1, 1));
/// assert_eq!(parked.unpark(&policy).retry(), call.retry());
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parked {
    /// The start of the call.
    pub started: Instant,
    /// The end of the wait.
    pub wake: Instant,
    /// The last delay that was drawn.
    pub prev: Span,
    /// Attempts made that count.
    pub attempts: u32,
    /// Delays drawn since the exponent last started.
    pub retries: u32,
}

impl Parked {
    /// The call again, under the policy that it was started with.
    #[must_use]
    #[inline]
    pub fn unpark(self, policy: &Policy) -> Session<'_> {
        Session::waiting(policy, self.machine())
    }

    /// The machine of the call alone, for a driver without a ledger.
    #[must_use]
    #[inline]
    pub fn machine(self) -> Retry {
        Retry {
            started: Start::at(self.started),
            wake: self.wake,
            prev: self.prev,
            hedging: Hedging::ALONE_AND_BACK,
            attempts: self.attempts,
            retries: self.retries,
            phase: Phase::Waiting,
            spent: Spent::default(),
            remedy: None,
            idempotent: true,
        }
    }
}

impl Session<'_> {
    /// The call in its shortest form, if it waits and has nothing else to remember.
    #[must_use]
    #[inline]
    pub fn park(&self) -> Option<Parked> {
        self.bare()?.park(self.policy())
    }
}

impl Retry {
    /// The call in its shortest form, if it waits and that loses nothing.
    #[must_use]
    #[inline]
    pub fn park(&self, policy: &Policy) -> Option<Parked> {
        let started = self.started.instant();
        let plain = matches!(self.phase, Phase::Waiting)
            && policy.hedge().is_none()
            && self.spent == Spent::default()
            && self.remedy.is_none()
            && self.idempotent
            && self.started == Start::at(started);
        let Self { wake, prev, attempts, retries, .. } = *self;
        plain.then_some(Parked { started, wake, prev, attempts, retries })
    }
}
