//! One run: callers, a backend and the pending events, until nothing is left to happen.

mod attempt_log;
mod attempts;
mod balanced;
mod callers;
mod observed_run;
mod plain;
mod run;
mod score;
mod slab;
mod traffic;
mod turns;
mod users;

pub use attempt_log::{AttemptEnd, PlayedAttempt};
pub use observed_run::ObservedRun;
pub use run::Simulation;
pub use score::{Played, Series};
