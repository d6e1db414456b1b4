//! The first attempt of a call: its state in the engine, and how exactly its start is known.
//!
//! Nearly every call ends with its first attempt, and every call under way is a future that holds
//! this. So until that attempt has settled, a call keeps no session.

use stagger_core::retry::{self, Call, FirstRefused, Launched, Ledger, Session};
use stagger_core::{Entropy, Instant, Outcome, Policy, Span};

use super::clock_precision::ClockPrecision;
use crate::clock::Clock;

/// A first attempt under a policy, or with a word that finds the policy again.
#[derive(Clone, Copy)]
pub(super) struct FirstAttempt<P> {
    pub(super) policy: P,
    since: Since,
    state: retry::FirstAttempt,
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
        let Self { policy: _, since, state } = self;
        FirstAttempt { policy, since, state }
    }

    /// The attempt takes time, as it turns out; from here on, if it was not known to the nanosecond
    /// when it started.
    pub(super) fn takes_time(&mut self, clock: &impl Clock) {
        if self.since == Since::Recent {
            self.state.started = clock.now();
        }
        self.since = Since::Before;
    }
}

impl<'r> FirstAttempt<&'r Policy> {
    /// Starts a call.
    ///
    /// # Errors
    /// The first attempt may not start now.
    #[inline]
    pub(super) fn start(
        policy: &'r Policy,
        ledger: &mut impl Ledger,
        call: Call,
        (now, since): (Instant, Since),
    ) -> Result<Self, FirstRefused> {
        let state = retry::FirstAttempt::start(policy, ledger, call, now)?;
        Ok(Self { policy, since, state })
    }

    /// The session of the attempt under way.
    pub(super) fn session(self) -> (Session<'r>, Launched) {
        self.state.session(self.policy)
    }

    /// The attempt succeeded. An attempt that was ready at once ended when it started, as far as a
    /// window's slots can tell. So the clock is read again only for one that took time, or where a
    /// breaker checks how long it took. It is read as exactly as the policy needs it.
    #[inline]
    pub(super) fn succeed(
        self,
        ledger: &mut impl Ledger,
        (clock, precision): (&impl Clock, ClockPrecision),
        outcome: &Outcome,
        entropy: &mut dyn Entropy,
    ) {
        let mut now = self.state.started;
        let took_time = || self.since == Since::Before || self.state.is_timed(self.policy);
        if self.state.is_reported() && took_time() {
            let is_exact = precision == ClockPrecision::Exact;
            now = if is_exact { clock.now() } else { now.max(clock.recent()) };
        }
        self.state.succeed(ledger, now, outcome, entropy);
    }

    /// The time limit of the attempt.
    pub(super) fn timeout(&self) -> Option<Span> {
        self.policy.limits().first_attempt_limit()
    }
}
