//! Kills the dispatcher under load, or makes other trouble, again and again, and counts what was lost:
//! `cargo xtask crash`.

mod cap;
mod cast;
mod cluster;
mod gaps;
mod leaders;
mod ledger;
mod node;
mod options;
mod poster;
mod probes;
mod report;
mod roster;
mod rounds;
mod trouble;

pub(crate) use options::Crash;
pub(crate) use rounds::run;
