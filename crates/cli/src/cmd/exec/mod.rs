//! `stagger exec`: a command as the operation of a retried call.
//!
//! The engine decides; here a child process is an attempt. `supervisor` makes one attempt at a time and
//! outlives the engine's future, so that a deadline never leaves a process behind.

mod attempt_command;
mod attempt_outcome;
mod budget_file;
mod captured_output;
mod command;
mod context;
mod exit;
mod host_ledger;
mod input;
mod invocation;
mod logging_timer;
mod orphans;
mod policy;
mod process_group;
mod reporter;
mod retry_rules;
mod signals;
mod spool;
mod supervisor;
mod terminal;

pub(crate) use command::exec;
