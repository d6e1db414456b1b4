//! Kills the dispatcher under load, or makes other trouble, again and again, and counts what was lost:
//! `cargo xtask crash`.

mod cast;
mod checks;
mod cluster;
mod leaders;
mod ledger;
mod node;
mod poster;
mod report;
mod rounds;

pub(crate) use cast::Crash;
pub(crate) use rounds::run;
