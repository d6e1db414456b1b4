//! The default budget in the layouts that people use: `cargo xtask bench budget`.
//!
//! Each layout makes the same calls in virtual time, first to a server that answers and then to one that hangs
//! or refuses. The attempts are counted where they arrive, never by the library's own figures.

mod chore;
mod clients;
mod shared;
mod upstream;

pub(super) use chore::{Layout, run};
