//! The limits that an attempt passes before it starts: first the rate, then the concurrency.

use core::task::Waker;

use crate::concurrency::{ConcurrencyLimiter, Entry, Turn};
use crate::policy::Policy;
use crate::rate_limit::{RateLimiter, Reservation};
use crate::time::{Instant, Span};

/// The answer to an attempt that is about to start under a concurrency or rate limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the attempt must wait, or not be made"]
pub enum Entrance {
    /// It may start.
    Open,
    /// It may start at this instant.
    At(Instant),
    /// It waits for a place, until this instant at the latest.
    Queued(Instant),
    /// The rate limit refuses it.
    RateLimited,
    /// The concurrency limit refuses it.
    Full,
}

/// The share of one attempt in the limits of its destination: a start, a turn in the queue, a place.
///
/// It is entered with the [`Ledger`](super::Ledger) and given back there, once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitPermit {
    reservation: Option<Reservation>,
    /// The turn in the queue, and the end of the wait.
    turn: Option<(Turn, Instant)>,
    placed: bool,
}

impl LimitPermit {
    /// Nothing.
    pub const NONE: Self = Self { reservation: None, turn: None, placed: false };

    /// Whether it is nothing.
    #[must_use]
    #[inline]
    pub const fn is_none(&self) -> bool {
        self.reservation.is_none() && self.turn.is_none() && !self.placed
    }

    /// Whether it waits in the queue.
    #[must_use]
    pub const fn is_queued(&self) -> bool {
        self.turn.is_some()
    }

    /// The place of an attempt that has started, which is all that it gives back.
    pub(super) const PLACE: Self = Self { placed: true, ..Self::NONE };

    /// Whether it holds a place.
    pub(super) const fn is_placed(&self) -> bool {
        self.placed
    }
}

/// The concurrency limit and the rate limit of one destination.
///
/// The rate comes first, as in resilience4j: an attempt that waits for its start holds no place. Attempts
/// that then queue for a place start as places become free, which may be closer together than the rate.
///
/// ```
/// use stagger_core::concurrency::ConcurrencyPlan;
/// use stagger_core::retry::{LimitPermit, AttemptLimiter, Entrance};
/// use stagger_core::{Instant, Policy, Span};
/// let policy = Policy::builder().concurrency_limit(ConcurrencyPlan::new(1)?).build()?;
/// let mut limiter = AttemptLimiter::new(&policy).expect("the policy has a limit");
/// let (now, mut first, mut second) = (Instant::ORIGIN, LimitPermit::NONE, LimitPermit::NONE);
/// assert_eq!(limiter.enter(now, &mut first, Span::MAX), Entrance::Open);
/// assert_eq!(limiter.enter(now, &mut second, Span::MAX), Entrance::Full);
/// assert!(limiter.leave(first).is_none(), "none waits");
/// assert_eq!(limiter.enter(now, &mut second, Span::MAX), Entrance::Open);
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct AttemptLimiter {
    rate: Option<RateLimiter>,
    concurrency: Option<ConcurrencyLimiter>,
}

impl AttemptLimiter {
    /// The limits of `policy`, if it has any.
    #[must_use]
    pub fn new(policy: &Policy) -> Option<Self> {
        let rate = policy.rate_limit().copied().map(RateLimiter::new);
        let concurrency = policy.concurrency_limit().copied().map(ConcurrencyLimiter::new);
        (rate.is_some() || concurrency.is_some()).then_some(Self { rate, concurrency })
    }

    /// Attempts that hold a place, and attempts that wait for one; `None` without a concurrency limit.
    #[must_use]
    pub fn in_flight(&self) -> Option<(u32, usize)> {
        self.concurrency.as_ref().map(|limiter| (limiter.taken(), limiter.queued()))
    }

    /// Whether it limits the rate.
    #[must_use]
    pub const fn has_rate(&self) -> bool {
        self.rate.is_some()
    }

    /// Asks for an attempt that may wait for at most `longest`, and goes on where `permit` has got to.
    /// A refusal leaves what `permit` has; the caller gives it back with [`leave`](Self::leave).
    pub fn enter(&mut self, now: Instant, permit: &mut LimitPermit, longest: Span) -> Entrance {
        if permit.placed {
            return Entrance::Open;
        }
        if let Some(answer) = self.enter_rate(now, permit, longest) {
            return answer;
        }
        self.enter_place(now, permit, longest)
    }

    /// Whether a queued attempt has its turn; if not, `waker` is woken once it has.
    #[must_use]
    pub fn watch(&mut self, permit: &LimitPermit, waker: &Waker) -> bool {
        match (&mut self.concurrency, permit.turn) {
            (Some(limiter), Some((turn, _))) => limiter.watch(turn, waker),
            _ => true,
        }
    }

    /// Takes back what an attempt held that has ended, or is not made. Returns who is to be woken.
    #[must_use = "the waker that is returned is to be woken"]
    pub fn leave(&mut self, permit: LimitPermit) -> Option<Waker> {
        if let (Some(limiter), Some(reservation)) = (&mut self.rate, permit.reservation) {
            limiter.give_back(reservation);
        }
        let limiter = self.concurrency.as_mut()?;
        match permit.turn {
            Some((turn, _)) => limiter.leave_queue(turn),
            None if permit.placed => limiter.exit(),
            None => None,
        }
    }

    fn enter_rate(
        &mut self,
        now: Instant,
        permit: &mut LimitPermit,
        longest: Span,
    ) -> Option<Entrance> {
        let limiter = self.rate.as_mut()?;
        if permit.reservation.is_none() {
            permit.reservation = limiter.reserve(now, longest);
        }
        match permit.reservation {
            None => Some(Entrance::RateLimited),
            Some(given) if given.start > now => Some(Entrance::At(given.start)),
            Some(_) => None,
        }
    }

    fn enter_place(&mut self, now: Instant, permit: &mut LimitPermit, longest: Span) -> Entrance {
        let Some(limiter) = &mut self.concurrency else { return Entrance::Open };
        if let Some((turn, until)) = permit.turn {
            if limiter.claim(turn) {
                (permit.turn, permit.placed) = (None, true);
                return Entrance::Open;
            }
            return if now < until { Entrance::Queued(until) } else { Entrance::Full };
        }
        let until = now + longest.min(limiter.plan().max_wait());
        match limiter.enter(until > now) {
            Entry::Entered => {
                permit.placed = true;
                Entrance::Open
            }
            Entry::Queued(turn) => {
                permit.turn = Some((turn, until));
                Entrance::Queued(until)
            }
            Entry::Full => Entrance::Full,
        }
    }
}
