//! The ledger: the state of a destination's budget, breaker and limits.

use super::{AttemptLimiter, Entrance, LimitPermit};
use crate::adaptive::{AdaptiveLimit, AdaptiveReport, Pacing};
use crate::breaker::{Admission, Breaker, Report, Ticket};
use crate::budget::{Budget, Charge, Level, Paid, Settled};
use crate::entropy::Entropy;
use crate::hint::DestinationPause;
use crate::policy::Policy;
use crate::time::{Instant, Span};
use alloc::boxed::Box;
use core::task::Waker;

/// The memory of one destination, asked and told by every call to it.
///
/// The engine's own [`PlainLedger`] is for one thread; a shared one answers the same questions from
/// atomics, or from leases that it fetched in the background. No method waits.
pub trait Ledger {
    /// A call's first attempt starts.
    fn on_first(&mut self, now: Instant);
    /// Asks the budget; `None` refuses.
    fn ask(&mut self, now: Instant, charge: Charge) -> Option<Paid>;
    /// The level of the budget, for the text of an error. Default: not known.
    fn level(&mut self, now: Instant) -> Option<Level> {
        let _ = now;
        None
    }
    /// Gives back a grant that no attempt followed.
    fn refund(&mut self, now: Instant, paid: Paid);
    /// An attempt settled, as far as the budget cares.
    fn on_settled(&mut self, now: Instant, settled: Settled);
    /// Asks the breaker.
    fn admit(&mut self, now: Instant) -> Admission;
    /// An admitted attempt settled, as far as the breaker cares.
    fn report(&mut self, now: Instant, ticket: Ticket, report: Report, entropy: &mut dyn Entropy);
    /// Asks the adaptive limit, before an attempt. Asked only under a policy that has one.
    fn pace(&mut self, now: Instant) -> Pacing;
    /// An attempt that the adaptive limit let pass has ended, or is not made after all.
    fn on_paced(&mut self, now: Instant, report: AdaptiveReport);
    /// Asks the concurrency limit and the rate limit for an attempt that may wait for at most `longest`,
    /// and goes on where `permit` has got to. Asked only under a policy that has one of them.
    fn enter(&mut self, now: Instant, permit: &mut LimitPermit, longest: Span) -> Entrance;
    /// Takes back what an attempt held that has ended, or is not made, and wakes who follows.
    fn leave(&mut self, now: Instant, permit: LimitPermit);
    /// Whether a queued attempt has its turn; if not, `waker` is woken once it has.
    fn watch(&mut self, permit: &LimitPermit, waker: &Waker) -> bool;
    /// The server asks all callers to stay away until `until`; those that wait start within `spread`
    /// after that. Told only under a policy whose hints are for the destination. Default: forgets it.
    fn pause(&mut self, until: Instant, spread: Span, entropy: &mut dyn Entropy) {
        let _ = (until, spread, entropy);
    }
    /// Returns the start of an attempt that is ready at `now`, while the destination is paused. Asked only
    /// under such a policy. Default: never paused.
    fn paused_until(&mut self, now: Instant) -> Option<Instant> {
        let _ = now;
        None
    }
}

/// A budget, a breaker and limits for one thread.
///
/// Throttling draws the same words in every run.
///
/// ```
/// use stagger_core::retry::{Ledger, PlainLedger};
/// use stagger_core::{budget::Charge, Instant, Policy};
/// let mut ledger = PlainLedger::new(&Policy::default());
/// let granted = (0..100).filter(|_| ledger.ask(Instant::ORIGIN, Charge::Retry).is_some()).count();
/// assert_eq!(granted, 2, "without first attempts, those in hand at rest");
/// ```
#[derive(Clone, Debug)]
pub struct PlainLedger {
    budget: Budget,
    breaker: Option<Breaker>,
    adaptive: Option<Box<AdaptiveLimit>>,
    limiter: Option<Box<AttemptLimiter>>,
    words: u64,
    pause: DestinationPause,
}

impl PlainLedger {
    /// An empty ledger for the budget and breaker of `policy`.
    #[must_use]
    pub fn new(policy: &Policy) -> Self {
        let breaker = policy.breaker().copied().map(Breaker::new);
        let budget = Budget::new(*policy.budget());
        let adaptive = policy.adaptive().map(|plan| Box::new(AdaptiveLimit::new(*plan)));
        let limiter = AttemptLimiter::new(policy).map(Box::new);
        Self { budget, breaker, adaptive, limiter, words: 0, pause: DestinationPause::NONE }
    }

    /// The budget.
    #[must_use]
    pub const fn budget(&self) -> &Budget {
        &self.budget
    }

    /// The breaker, if the policy has one.
    #[must_use]
    pub const fn breaker(&self) -> Option<&Breaker> {
        self.breaker.as_ref()
    }
}

impl Ledger for PlainLedger {
    #[inline]
    fn on_first(&mut self, now: Instant) {
        self.budget.on_first(now);
    }

    #[inline]
    fn ask(&mut self, now: Instant, charge: Charge) -> Option<Paid> {
        self.budget.ask(now, charge)
    }

    fn level(&mut self, now: Instant) -> Option<Level> {
        Some(self.budget.level(now))
    }

    fn refund(&mut self, now: Instant, paid: Paid) {
        self.budget.refund(now, paid);
    }

    #[inline]
    fn on_settled(&mut self, now: Instant, settled: Settled) {
        self.budget.on_settled(now, settled);
    }

    #[inline]
    fn admit(&mut self, now: Instant) -> Admission {
        match &mut self.breaker {
            Some(breaker) => breaker.admit(now),
            // The ledger of a policy without a breaker, asked by a policy with one: nothing is known
            // against the destination, and refusing would end every call to a healthy server.
            None => Admission::Admitted(Ticket::NEUTRAL),
        }
    }

    #[inline]
    fn report(&mut self, now: Instant, ticket: Ticket, report: Report, entropy: &mut dyn Entropy) {
        if let Some(breaker) = &mut self.breaker {
            // The state is read from the breaker itself; the transition is news for metrics only.
            let _ = breaker.report(now, ticket, report, &mut || entropy.next_u64());
        }
    }

    fn pace(&mut self, now: Instant) -> Pacing {
        // As without a breaker: nothing is known against the destination.
        let Some(limit) = &mut self.adaptive else { return Pacing::After(Span::ZERO) };
        let words = &mut self.words;
        limit.ask(now, &mut || spread_word(words))
    }

    fn on_paced(&mut self, now: Instant, report: AdaptiveReport) {
        if let Some(limit) = &mut self.adaptive {
            limit.settle(now, report);
        }
    }

    fn enter(&mut self, now: Instant, permit: &mut LimitPermit, longest: Span) -> Entrance {
        // As without a breaker: no limit, so nothing to keep to.
        let Some(limiter) = &mut self.limiter else { return Entrance::Open };
        limiter.enter(now, permit, longest)
    }

    fn leave(&mut self, _: Instant, permit: LimitPermit) {
        let next = self.limiter.as_mut().and_then(|limiter| limiter.leave(permit));
        if let Some(waker) = next {
            waker.wake();
        }
    }

    fn watch(&mut self, permit: &LimitPermit, waker: &Waker) -> bool {
        self.limiter.as_mut().is_none_or(|limiter| limiter.watch(permit, waker))
    }

    fn pause(&mut self, until: Instant, spread: Span, entropy: &mut dyn Entropy) {
        self.pause.extend(until, spread, entropy.next_u64());
    }

    fn paused_until(&mut self, now: Instant) -> Option<Instant> {
        self.pause.start_of_next(now)
    }
}

/// The next word of a fixed sequence that fills the range evenly: multiples of the golden ratio, as the
/// increments of `SplitMix64` are.
const fn spread_word(words: &mut u64) -> u64 {
    *words = words.wrapping_add(0x9E37_79B9_7F4A_7C15);
    *words
}
