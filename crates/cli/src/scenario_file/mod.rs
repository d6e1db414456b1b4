//! Scenarios and policies that a person writes: TOML in, a scenario or a flaw with its place out.
//!
//! `docs/scenarios.md` lists every key. A file is read by [`Reader`]s, which know what was asked of
//! them, so that what nobody asks for is refused, with the key that was probably meant.

mod arrivals;
mod document;
mod engine;
mod fault;
mod flaw;
mod fleet;
mod laws;
mod layer;
mod network;
mod policies;
mod reader;
mod server;
mod story;
mod vary;
mod watch;

pub(crate) use document::Document;
pub(crate) use flaw::Flaw;
pub(crate) use policies::policies;
pub(crate) use story::{Given, read};

use reader::Reader;
