//! A running dispatcher: the floor, the store and the sender, joined.
//!
//! One task owns the floor: it launches what is due and hears what comes back. Each attempt is a task
//! of its own. What attempts came to goes through one queue into the store, many at once. Messages
//! are accepted by their callers' own tasks; they reach the floor once they are durable.
//!
//! With a store that several nodes work on, `fleet` decides what is on the floor of this one.

mod allowance;
mod arrivals;
mod carry;
mod census;
mod changes;
mod clock;
mod directory;
mod fleet;
mod handle;
mod health;
mod hinting;
mod inbox;
mod intake;
mod names;
mod news;
mod options;
mod parts;
mod payloads;
mod pruning;
mod replay;
#[cfg(test)]
mod rig;
mod runner;
mod settling;
mod start;
mod submission;

pub use allowance::SharedBudgets;
pub use arrivals::{Arrivals, Second};
pub use handle::Node;
pub use options::NodeOptions;
pub use submission::Submission;
