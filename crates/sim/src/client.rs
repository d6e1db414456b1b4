//! One caller: the engine's retry machine, told the virtual time.

use stagger_core::retry::{Call, Permit, Retry, Step, Wait};
use stagger_core::{Entropy, Instant, Outcome, Policy};

/// A caller in the middle of its call; aligned, so that it never lies in two cache lines.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Client {
    retry: Retry,
}

/// What a caller does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// It makes an attempt now.
    Attempt,
    /// It makes no attempt before this.
    Wait(Instant),
    /// Its call is over.
    Over,
}

impl Client {
    /// A caller whose first attempt is due now.
    pub(crate) fn start(policy: &Policy, now: Instant) -> (Self, Next) {
        let (mut retry, step) = Retry::start(policy, Call::idempotent(), now);
        let next = granted(&mut retry, policy, now, step);
        (Self { retry }, next)
    }

    /// Attempts made so far.
    pub(crate) const fn attempts(&self) -> u32 {
        self.retry.attempts()
    }

    /// The attempt's outcome is here.
    #[inline]
    pub(crate) fn settle(
        &mut self,
        policy: &Policy,
        now: Instant,
        outcome: &Outcome,
        entropy: &mut impl Entropy,
    ) -> Next {
        let step = self.retry.on_outcome(policy, now, outcome, entropy);
        granted(&mut self.retry, policy, now, step)
    }

    /// The delay is over.
    #[inline]
    pub(crate) fn wake(&mut self, policy: &Policy, now: Instant) -> Next {
        let step = self.retry.on_wake(policy, now);
        granted(&mut self.retry, policy, now, step)
    }
}

/// What follows from a step when every permit is granted: the lab's callers have no budget and no
/// breaker yet.
#[inline]
fn granted(retry: &mut Retry, policy: &Policy, now: Instant, mut step: Step) -> Next {
    loop {
        step = match step {
            Step::Ask(_) => retry.on_permit(policy, now, Permit::Granted),
            Step::Call(_) => return Next::Attempt,
            Step::Wait(Wait::Until(at)) => return Next::Wait(at),
            // OK because the lab's policies have no hedging: a call has one copy, and it is settled.
            Step::Wait(Wait::Copies { .. }) | Step::Hedge(_) | Step::Done(_) => return Next::Over,
        };
    }
}
