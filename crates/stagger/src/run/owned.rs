//! A call that owns its retrier, for futures that have a name and so cannot borrow from themselves.

use stagger_core::retry::{Detached, Launched, Ledger};
use stagger_core::{Instant, Outcome, Span};

use super::Retrier;
use super::first::First;
use super::live::{Kept, Live, Mark, Next, Phase};
use crate::clock::{Clock, Sleep};

/// A [`Live`] call with its retrier. It gives back what was taken when it is dropped, as that does.
///
/// Between two events it keeps the call without its policy, and puts them together for each event.
pub(crate) struct Owned<Z, L> {
    retrier: Retrier<Z, L>,
    parked: Parked,
    idempotent: bool,
    /// What dropping does. Known from the start, so that no type that holds a call has to repeat what
    /// a ledger must be able to do: pin-project-lite could not.
    give_back: fn(Parked, &Retrier<Z, L>, bool),
}

/// A [`Phase`] that borrows nothing.
#[derive(Default)]
enum Parked {
    #[default]
    Unstarted,
    First(First<Single>),
    Kept(Box<ParkedKept>),
}

struct ParkedKept {
    session: Detached,
    policy: Single,
    launched: Option<Launched>,
    ended: bool,
}

/// Single of the retrier's two policies a call is under: the one with a single attempt?
#[derive(Clone, Copy)]
struct Single(bool);

impl<Z: Clock, L> Owned<Z, L>
where
    for<'l> &'l L: Ledger,
{
    pub(crate) const fn new(retrier: Retrier<Z, L>, idempotent: bool) -> Self {
        let give_back = Parked::give_back::<Z, L>;
        Self { retrier, parked: Parked::Unstarted, idempotent, give_back }
    }

    /// Begins the call.
    pub(crate) fn begin(&mut self) -> Next {
        self.with(|live| live.begin(false))
    }

    /// How much time the attempt under way may take, which turns out to take some.
    pub(crate) fn limit(&mut self) -> Option<Span> {
        self.with(|live| live.limit())
    }

    /// The attempt under way succeeded.
    pub(crate) fn succeed(&mut self, outcome: &Outcome) {
        self.with(|live| live.succeed(outcome));
    }

    /// The attempt under way settled.
    pub(crate) fn settle(&mut self, outcome: &Outcome) -> (Next, Mark) {
        self.with(|live| live.settle(outcome))
    }

    /// A wait is over.
    pub(crate) fn wake(&mut self) -> Next {
        self.with(|live| live.wake())
    }

    /// Ends the call for good.
    pub(crate) fn cancel(&mut self) -> Next {
        self.with(|live| live.cancel())
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

    fn with<R>(&mut self, event: impl FnOnce(&mut Live<'_, Z, L>) -> R) -> R {
        let Self { retrier, parked, idempotent, give_back: _ } = self;
        let mut live = std::mem::take(parked).live(retrier, *idempotent);
        let answer = event(&mut live);
        *parked = Parked::of(&mut live);
        answer
    }
}

impl<Z, L> Drop for Owned<Z, L> {
    fn drop(&mut self) {
        (self.give_back)(std::mem::take(&mut self.parked), &self.retrier, self.idempotent);
    }
}

impl Parked {
    /// Leaves nothing in `live` that would be given back when it is dropped.
    fn of<Z: Clock, L>(live: &mut Live<'_, Z, L>) -> Self
    where
        for<'l> &'l L: Ledger,
    {
        let retrier = live.retrier;
        let single = |policy| Single(!std::ptr::eq(policy, retrier.policy()));
        match std::mem::replace(&mut live.phase, Phase::Unstarted) {
            Phase::Unstarted => Self::Unstarted,
            Phase::First(first) => Self::First(first.under(single(first.policy))),
            Phase::Kept(kept) => {
                let Kept { session, launched, ended } = *kept;
                let policy = single(session.policy());
                let session = session.detach();
                Self::Kept(Box::new(ParkedKept { session, policy, launched, ended }))
            }
        }
    }

    fn live<Z: Clock, L>(self, retrier: &Retrier<Z, L>, idempotent: bool) -> Live<'_, Z, L>
    where
        for<'l> &'l L: Ledger,
    {
        let phase = match self {
            Self::Unstarted => Phase::Unstarted,
            Self::First(first) => Phase::First(first.under(retrier.policy_for(first.policy.0))),
            Self::Kept(kept) => {
                let ParkedKept { session, policy, launched, ended } = *kept;
                let session = session.attach(retrier.policy_for(policy.0));
                Phase::Kept(Box::new(Kept { session, launched, ended }))
            }
        };
        Live { retrier, phase, idempotent }
    }

    fn give_back<Z: Clock, L>(self, retrier: &Retrier<Z, L>, idempotent: bool)
    where
        for<'l> &'l L: Ledger,
    {
        drop(self.live(retrier, idempotent));
    }
}
