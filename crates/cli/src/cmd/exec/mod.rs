//! `stagger exec`: a command as the operation of a retried call.
//!
//! The engine decides; here a child process is an attempt. `stage` makes one attempt at a time and
//! outlives the engine's future, so that a deadline never leaves a process behind.

mod budget_file;
mod command;
mod ended;
mod exit;
mod group;
mod host_ledger;
mod input;
mod nested;
mod notes;
mod order;
mod orphans;
mod output;
mod plan;
mod policy;
mod rules;
mod run;
mod scene;
mod signals;
mod spool;
mod stage;
mod terminal;
mod told_time;

pub(crate) use command::exec;
