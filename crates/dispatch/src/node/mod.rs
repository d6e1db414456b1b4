//! A running dispatcher: the scheduler, the store and the sender, joined.
//!
//! One task owns the scheduler: it launches attempts that are due and receives their results. Each
//! attempt is a task of its own. Results go through one queue into the store, many in a batch. The
//! tasks of callers accept messages, which reach the scheduler once they are durable.
//!
//! With a store that several nodes share, `fleet` decides which endpoints this node schedules.

mod attempt;
mod attempt_rates;
mod changes;
mod clock;
mod directory;
mod fleet;
mod gauges;
mod handle;
mod health;
mod inbox;
mod intake;
mod message_ids;
mod notifications;
mod operational_events;
mod options;
mod parts;
mod payloads;
mod pruning;
mod replay;
mod runner;
mod settling;
mod shared_budgets;
mod start;
mod submission;
#[cfg(test)]
mod testing;

pub use attempt_rates::{AttemptRates, Second};
pub use handle::Node;
pub use options::NodeOptions;
pub use shared_budgets::SharedBudgets;
pub use submission::Submission;
