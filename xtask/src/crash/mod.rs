//! Kills the dispatcher under load, or makes other trouble, again and again, and counts what was lost:
//! `cargo xtask crash`.

mod cap;
mod cast;
mod chore;
mod cluster;
mod gaps;
mod leaders;
mod ledger;
mod node;
mod poster;
mod probes;
mod report;
mod roster;
mod rounds;
mod trouble;

pub(crate) use chore::{Crash, run};
