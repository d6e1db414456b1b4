//! Budgets: how many retries a destination may get.
//!
//! A [`BudgetPlan`] is the rule: validated, immutable, `Copy`. A [`Budget`] is a plan with what it
//! remembers. The engine tells it of every first attempt ([`Budget::on_first`]), asks before every
//! retry ([`Budget::ask`]), gives back what was granted and not used ([`Budget::refund`]), and
//! reports how attempts settled ([`Budget::on_settled`]). Nothing here reads a clock, locks, or
//! waits. A [`SavedBudget`] holds what one remembers, for processes that share it.
//!
//! | plan | rule |
//! | --- | --- |
//! | [`WindowPlan`] (default) | a share of the first attempts of the last seconds, plus a floor |
//! | [`TokenPlan`] | the AWS bucket: retries cost tokens, successes bring them back |
//! | [`ThrottlePlan`] | gRPC (gRFC A6): no retries while failures outweigh successes |
//! | [`IntervalPlan`] | at most n retries in any interval |
//! | [`BudgetPlan::Unlimited`], [`BudgetPlan::None`] | always, never |
//!
//! Deciding is apart from remembering: each plan has functions over its own small state
//! ([`WindowState`], [`TokenState`], [`ThrottleState`], [`IntervalState`]). The states of the
//! token bucket and of the throttle are one 64-bit word, so that they fit a compare-exchange loop.
//!
//! ```
//! use stagger_core::budget::{Budget, BudgetPlan, Charge};
//! use stagger_core::Instant;
//!
//! let mut budget = Budget::new(BudgetPlan::default()); // 10 %, and 2 in hand at rest
//! let now = Instant::ORIGIN;
//! for _ in 0..100 {
//!     budget.on_first(now);
//! }
//! let granted = (0..100).filter(|_| budget.ask(now, Charge::Retry).is_some()).count();
//! assert_eq!(granted, 10 + 2);
//! ```

mod account;
mod charge;
mod interval;
mod plan;
mod saved;
mod share;
mod throttle;
mod token;
mod window;

pub use account::Budget;
pub use charge::{Charge, Level, Paid, Settled};
pub use interval::{IntervalPlan, IntervalState};
pub use plan::BudgetPlan;
pub use saved::SavedBudget;
pub use throttle::{ThrottlePlan, ThrottleState};
pub use token::{TokenPlan, TokenState};
pub use window::{FloorRate, WindowPlan, WindowState};
