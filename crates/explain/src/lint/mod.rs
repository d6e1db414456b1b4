//! The rules of the lint: one file a rule or a family of rules.
//!
//! `docs/lint.md` lists the codes with their sources.

mod attempts;
mod base;
mod breaker;
mod budget;
mod deadline;
mod delays;
mod figure;
mod fleet;
mod hedge;
mod hints;
mod jitter;
mod rate;
mod reach;
mod reserve;
mod rules;
mod slo;

pub use rules::lint;
