//! The engine under the calls, for programs that drive it themselves: an event loop, a queue, a simulator.
//!
//! A [`Session`] is one call. It is told the time, chance and outcomes, and answers with the next [`Action`]: make an
//! attempt, wait, or stop. It makes no call, reads no clock and never waits. A [`Ledger`] holds the state that the calls
//! to one destination share; [`LocalLedger`](crate::LocalLedger) is one, and a ledger of another kind implements the
//! trait.
//!
//! These names change more often than those at the root of the crate: a change of one of them is a new minor version
//! before 1.0, and a new major version after it.
//!
//! ```
//! use stagger::engine::{Action, Call, PlainLedger, Session, Wait};
//! use stagger::{Hint, Instant, Outcome, Policy, Span, Stop, Verdict};
//!
//! let policy = Policy::default();
//! let mut ledger = PlainLedger::new(&policy); // the budget of the destination
//! let mut chance = || u64::MAX; // always the longest draw
//! let now = Instant::ORIGIN;
//!
//! let (mut call, action) = Session::start(&policy, &mut ledger, Call::idempotent(), now);
//! let Action::Attempt(first) = action else { panic!("nothing stands in the way") };
//! let busy = Outcome::new(Verdict::Throttled).with_hint(Hint::AtLeast(Span::from_secs(2)));
//! let action = call.on_outcome(&mut ledger, now, first, &busy, &mut chance);
//! assert_eq!(action, Action::Wait(Wait::Until(now + Span::from_secs(3)))); // the hint, and half of it as spread
//!
//! let now = now + Span::from_secs(3);
//! let Action::Attempt(second) = call.on_wake(&mut ledger, now) else { panic!("the wait is over") };
//! let action = call.on_outcome(&mut ledger, now, second, &Outcome::OK, &mut chance);
//! assert!(matches!(action, Action::Done(done) if done.stop == Stop::Succeeded && done.attempts == 2));
//! ```

#[doc(inline)]
pub use stagger_core::hint::DestinationPause;
#[doc(inline)]
pub use stagger_core::retry::{
    Action, Ask, Attempt, AttemptLimiter, Call, Detached, Entrance, FirstAttempt, FirstRefused,
    Launched, Ledger, LimitPermit, Parked, Permit, PlainLedger, Retry, Saved, Session, Step, Wait,
};

/// The state of limits that also cover first attempts.
pub mod adaptive {
    #[doc(inline)]
    pub use stagger_core::adaptive::{AdaptiveLimit, ClientThrottle, CubicLimiter, CubicRate};
}

/// The state of breakers, and the tickets of the attempts that they admit.
pub mod breaker {
    #[doc(inline)]
    pub use stagger_core::breaker::{Admission, Breaker, Call, Destination, Ticket, Transition};
}

/// The state of budgets, and what retries cost them.
pub mod budget {
    #[doc(inline)]
    pub use stagger_core::budget::{
        Budget, Charge, IntervalState, Level, Paid, SavedBudget, Settled, ThrottleState,
        TokenState, WindowState,
    };
}

/// The places of concurrency limits, and the attempts that wait for one.
pub mod concurrency {
    #[doc(inline)]
    pub use stagger_core::concurrency::{ConcurrencyLimiter, Entry, Turn};
}

/// The starts that rate limits give.
pub mod rate_limit {
    #[doc(inline)]
    pub use stagger_core::rate_limit::{RateLimiter, Reservation};
}

/// The copies of one hedged call, and the latencies that a measured delay comes from.
pub mod hedge {
    #[doc(inline)]
    pub use stagger_core::hedge::{Hedging, Latencies};
}
