//! A call that owns its retrier, for futures that have a name and so cannot borrow from themselves.

use std::sync::Arc;

use stagger_core::retry::{Detached, Launched, Ledger};
use stagger_core::{Instant, Outcome, Policy, Span};

use super::Retrier;
use super::call_guard::{CallGuard, Mark, Next, Phase, RunningCall};
use super::first_attempt::FirstAttempt;
use crate::clock::{Clock, Sleep};

/// A [`CallGuard`] call with its retrier. It gives back what was taken when it is dropped, as that does.
///
/// Between two events it keeps the call without its policy, and puts them together for each event.
pub(crate) struct OwnedCall<Z, L> {
    retrier: Arc<Retrier<Z, L>>,
    /// The ledger of its destination, where that is not the retrier's.
    ledger: Option<Arc<L>>,
    parked: Parked,
    idempotent: bool,
    /// The function that dropping runs. Known from the start, so that no type that holds a call has to repeat what
    /// a ledger must be able to do: pin-project-lite could not.
    give_back: fn(Parked, &Retrier<Z, L>, &L, bool),
}

/// A [`Phase`] that borrows nothing.
#[derive(Default)]
enum Parked {
    #[default]
    Unstarted,
    First(FirstAttempt<Single>),
    Running(Box<ParkedCall>),
}

struct ParkedCall {
    session: Detached,
    policy: Single,
    launched: Option<Launched>,
    ended: bool,
}

impl ParkedCall {
    #[cold]
    fn phase(self, policy: &Policy) -> Phase<'_> {
        let Self { session, policy: _, launched, ended } = self;
        Phase::Running(Box::new(RunningCall { session: session.attach(policy), launched, ended }))
    }
}

/// Single of the retrier's two policies a call is under: the one with a single attempt?
#[derive(Clone, Copy)]
struct Single(bool);

impl Single {
    fn of(policy: &Policy, whole: &Policy) -> Self {
        Self(!std::ptr::eq(policy, whole))
    }
}

impl<Z: Clock, L> OwnedCall<Z, L>
where
    for<'l> &'l L: Ledger,
{
    pub(crate) const fn new(retrier: Arc<Retrier<Z, L>>, idempotent: bool) -> Self {
        let give_back = Parked::give_back::<Z, L>;
        Self { retrier, ledger: None, parked: Parked::Unstarted, idempotent, give_back }
    }

    /// The same call with the ledger of its destination, where that is not the retrier's.
    #[cfg(feature = "http")]
    pub(crate) fn with_ledger(mut self, ledger: Option<Arc<L>>) -> Self {
        self.ledger = ledger;
        self
    }

    /// Begins the call.
    #[inline]
    pub(crate) fn begin(&mut self) -> Next {
        self.with(|guard| guard.begin(false))
    }

    /// The time limit of the attempt under way, which turns out to take time.
    pub(crate) fn limit(&mut self) -> Option<Span> {
        self.with(|guard| guard.limit())
    }

    /// The attempt under way succeeded. Nobody has to hear of a call that nothing has started.
    #[inline]
    pub(crate) fn succeed(&mut self, outcome: &Outcome) {
        if !matches!(self.parked, Parked::Unstarted) {
            self.with(|guard| guard.succeed(outcome));
        }
    }

    /// The attempt under way settled.
    #[cold]
    pub(crate) fn settle(&mut self, outcome: &Outcome) -> (Next, Mark) {
        self.with(|guard| guard.settle(outcome))
    }

    /// A wait is over.
    pub(crate) fn wake(&mut self) -> Next {
        self.with(|guard| guard.wake())
    }

    /// Ends the call for good.
    pub(crate) fn cancel(&mut self) -> Next {
        self.with(|guard| guard.cancel())
    }

    /// The time by the retrier's clock.
    pub(crate) fn now(&self) -> Instant {
        self.retrier.time.now()
    }

    /// A timer that ends `span` from now.
    pub(crate) fn sleep(&self, span: Span) -> Z::Timer
    where
        Z: Sleep,
    {
        self.retrier.time.sleep(span)
    }

    #[inline]
    fn with<R>(&mut self, event: impl FnOnce(&mut CallGuard<'_, Z, L>) -> R) -> R {
        let Self { retrier, ledger, parked, idempotent, give_back: _ } = self;
        let ledger = ledger.as_deref().unwrap_or(retrier.ledger());
        let mut guard = std::mem::take(parked).guard(retrier, ledger, *idempotent);
        let answer = event(&mut guard);
        *parked = Parked::of(&mut guard);
        answer
    }
}

impl<Z, L> Drop for OwnedCall<Z, L> {
    #[inline]
    fn drop(&mut self) {
        if !matches!(self.parked, Parked::Unstarted) {
            let ledger = self.ledger.as_deref().unwrap_or(self.retrier.ledger());
            let parked = std::mem::take(&mut self.parked);
            (self.give_back)(parked, &self.retrier, ledger, self.idempotent);
        }
    }
}

impl Parked {
    /// Leaves nothing in `live` that would be given back when it is dropped.
    #[inline]
    fn of<Z: Clock, L>(guard: &mut CallGuard<'_, Z, L>) -> Self
    where
        for<'l> &'l L: Ledger,
    {
        let whole = guard.retrier.policy();
        match std::mem::replace(&mut guard.phase, Phase::Unstarted) {
            Phase::Unstarted => Self::Unstarted,
            Phase::First(first) => Self::First(first.under(Single::of(first.policy, whole))),
            Phase::Running(running) => Self::running(*running, whole),
        }
    }

    #[cold]
    fn running(running: RunningCall<'_>, whole: &Policy) -> Self {
        let RunningCall { session, launched, ended } = running;
        let policy = Single::of(session.policy(), whole);
        Self::Running(Box::new(ParkedCall { session: session.detach(), policy, launched, ended }))
    }

    #[inline]
    fn guard<'r, Z: Clock, L>(
        self,
        retrier: &'r Retrier<Z, L>,
        ledger: &'r L,
        idempotent: bool,
    ) -> CallGuard<'r, Z, L>
    where
        for<'l> &'l L: Ledger,
    {
        let phase = match self {
            Self::Unstarted => Phase::Unstarted,
            Self::First(first) => Phase::First(first.under(retrier.policy_for(first.policy.0))),
            Self::Running(running) => {
                let policy = retrier.policy_for(running.policy.0);
                running.phase(policy)
            }
        };
        CallGuard { retrier, ledger, phase, idempotent }
    }

    fn give_back<Z: Clock, L>(self, retrier: &Retrier<Z, L>, ledger: &L, idempotent: bool)
    where
        for<'l> &'l L: Ledger,
    {
        drop(self.guard(retrier, ledger, idempotent));
    }
}
