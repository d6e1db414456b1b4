//! The rules of the lint: one file a rule or a family of rules.
//!
//! `docs/lint.md` lists the codes with their sources.

mod across;
mod adaptive;
mod attempt_limits;
mod attempts;
mod breaker;
mod budget;
mod deadline;
mod delays;
mod hints;
mod reserve;
mod routes;
mod rules;

pub use across::{LayeredPolicy, multiplied};
pub use routes::{RouteFacts, lint_route};
pub use rules::lint;
