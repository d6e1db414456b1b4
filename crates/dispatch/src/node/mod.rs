//! A running dispatcher: the floor, the store and the sender, joined.
//!
//! One task owns the floor: it launches what is due and hears what comes back. Each attempt is a task
//! of its own. What attempts came to goes through one queue into the store, many at once. Messages
//! are accepted by their callers' own tasks; they reach the floor once they are durable.
//!
//! With a store that several nodes work on, `fleet` decides what is on the floor of this one.

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
