//! The rules of the lint: one file a rule or a family of rules.
//!
//! `docs/lint.md` lists the codes with their sources.

mod attempts;
mod base;
mod breaker;
mod budget;
mod cap;
mod deadline;
mod delays;
mod figure;
mod fleet;
mod hedge;
mod hints;
mod idempotency;
mod jitter;
mod layers;
mod rate;
mod reach;
mod reserve;
mod rules;
mod slo;
mod throttled;

pub use rules::lint;
