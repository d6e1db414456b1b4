//! A running dispatcher: the scheduler, the store and the sender, joined.
//!
//! One task owns the scheduler: it launches attempts that are due and receives their results. Each
//! attempt is a task of its own. Results go through one queue into the store, many in a batch. The
//! tasks of callers accept messages, which reach the scheduler once they are durable.
//!
//! `fleet` decides which endpoints this node schedules. With a store for one node these are all: it is a
//! cluster of one.

mod accept_within;
mod api_keys;
mod attempt;
mod audit;
mod catalogue;
mod clock;
mod directory;
mod event_types;
mod fleet;
mod handle;
mod health;
mod installation;
mod intake;
mod key_ring;
mod lease;
mod operational;
mod operator_events;
mod portal;
mod repeat;
mod replay;
mod routing;
mod runner;
mod scheduler_state;
mod settings_writer;
mod settle_queue;
mod settler;
mod shared_budgets;
mod start;
mod starting;
mod status;
mod submission;
mod tasks;
#[cfg(test)]
mod testing;
mod uncommitted;

pub(crate) use catalogue::{CatalogueType, EventTypeSettings};
pub use fleet::NodeInfo;
pub use handle::Node;
pub(crate) use portal::{MAX_LIFETIME, NotOpened};
pub use shared_budgets::{NodeOptions, SharedBudgets};
pub use status::{AttemptRates, MinuteResults, Second};
pub use submission::Submission;
