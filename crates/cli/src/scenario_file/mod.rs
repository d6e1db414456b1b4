//! Scenarios that a person writes: TOML in, a scenario or a flaw with its place out.
//!
//! `docs/scenarios.md` lists every key.

mod arrivals;
#[cfg(test)]
mod kinds_test;
mod laws;
mod overload;
mod rows;
mod server;
mod story;
mod tier;
mod users;

pub(crate) use story::{ScenarioOverrides, read};
