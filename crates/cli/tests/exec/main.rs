//! `stagger exec` with real processes and real signals, each test named by what went wrong.
#![cfg(unix)]

mod arguments;
mod budget;
mod cases;
mod codes;
mod deadline;
mod groups;
mod hints;
mod hooks;
mod log;
mod nested;
mod orphans;
mod output;
mod refusals;
mod scratch;
mod signals;
mod terminal;
mod tool;
mod transparent;
mod until;
