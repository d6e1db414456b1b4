#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod budgeted;
mod calls;
mod choose;
mod delay;
mod explain;
mod explanation;
mod figure;
mod finding;
mod granted;
mod lint;
mod timeline;
mod worst_case;

pub use choose::{Answers, Choice, LineReason, QUESTIONS, Question, QuestionKey, Repeat, choose};
pub use explain::explain;
pub use explanation::{
    CapShare, Explanation, Extent, FleetBudget, LoadFactor, Method, PlannedAttempt, Quantiles,
    Setting, SloCheck,
};
pub use finding::{Code, PolicyFinding, Severity, UnknownCode};
pub use lint::{LayeredPolicy, RouteFacts, lint, lint_route, multiplied};
