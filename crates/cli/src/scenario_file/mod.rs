//! Scenarios that a person writes: TOML in, a scenario or a flaw with its place out.
//!
//! `docs/scenarios.md` lists every key.

mod arrivals;
mod bystanders;
mod fault;
mod fleet;
#[cfg(test)]
mod kinds_test;
mod laws;
mod layer;
mod server;
mod story;
mod vary;
mod watch;

pub(crate) use story::{ScenarioOverrides, read};
