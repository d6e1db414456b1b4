//! A waiting call in the fewest words, for drivers that hold millions of them.

use super::machine::{Phase, Spent};
use super::start::Start;
use super::{Retry, Session};
use crate::hedge::Hedging;
use crate::policy::Policy;
use crate::time::{Instant, Span};

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
