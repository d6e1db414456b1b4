//! Many processes with one budget in a real store, which is stopped and paused: `cargo xtask fleet`.

mod chore;
mod count;
mod forecast;
mod member;
mod phase;
mod processes;
mod report;
mod timed;

pub(crate) use chore::{Fleet, run};
pub(crate) use member::{FleetMember, member};
