//! Many processes with one budget in a real store, which is stopped and paused: `cargo xtask fleet`.

mod chore;
mod member;
mod processes;

pub(crate) use chore::{Fleet, run};
pub(crate) use member::{FleetMember, member};
