//! The retry machine: one call, step by step.
//!
//! [`Retry`] is told what happened and answers with a [`Step`]; it never sleeps, never calls and
//! never asks anybody. [`Session`] is the same machine with its questions answered by a [`Ledger`].
//!
//! ```
//! use stagger_core::retry::{Action, Call, Retry, Step, Stop, Wait};
//! use stagger_core::{budget::BudgetPlan, Instant, Outcome, Policy, Span, Verdict};
//!
//! let policy = Policy::builder().budget(BudgetPlan::Unlimited).build()?;
//! let mut entropy = || u64::MAX; // always the longest delay
//! let (mut call, first) = Retry::start(&policy, Call::idempotent(), Instant::ORIGIN);
//! assert!(matches!(first, Step::Act(Action::Attempt(attempt)) if attempt.number == 1));
//!
//! let failed = Outcome::new(Verdict::Transient);
//! let next = call.on_outcome(&policy, Instant::ORIGIN, &failed, &mut entropy);
//! let wake = Instant::ORIGIN + Span::from_millis(100);
//! assert_eq!(next, Step::Act(Action::Wait(Wait::Until(wake))));
//!
//! let next = call.on_wake(&policy, wake);
//! assert!(matches!(next, Step::Act(Action::Attempt(attempt)) if attempt.number == 2));
//! let end = call.on_outcome(&policy, wake, &Outcome::OK, &mut entropy);
//! let Step::Act(Action::Done(done)) = end else { panic!("a success ends the call") };
//! assert_eq!((done.stop, done.attempts), (Stop::Succeeded, 2));
//! # Ok::<(), stagger_core::ConfigError>(())
//! ```

mod first;
mod ledger;
mod limiter;
mod machine;
mod reconnect;
mod saved;
mod session;
mod settle;
mod start;
mod step;
mod stop;

pub use first::{FirstAttempt, FirstRefused};
pub use ledger::{Ledger, PlainLedger};
pub use limiter::{AttemptLimiter, Entrance, LimitPermit};
pub use machine::{Call, Retry};
pub use reconnect::Reconnect;
pub use saved::Parked;
pub use saved::Saved;
pub use session::{Detached, Session};
pub use step::{Action, Ask, Attempt, Launched, Permit, Step, Wait};
pub use stop::{Done, Stop};
