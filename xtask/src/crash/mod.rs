//! Kills the dispatcher under load, again and again, and counts what was lost: `cargo xtask crash`.

mod book;
mod cast;
mod chore;
mod poster;
mod report;

pub(crate) use chore::{Crash, run};
