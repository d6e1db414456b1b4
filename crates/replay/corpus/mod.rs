//! A corpus of logs whose truth is known: what a replay says about each, beside what was.
//!
//! Logs are generated when they are needed, from seeds. What would have been without retries is the run of
//! the same world without retries, and nothing of the replay.

mod check;
mod logs;
#[path = "../tests/print/mod.rs"]
mod print;
mod world;

pub(crate) use check::CorpusRow;
pub(crate) use logs::logs;
