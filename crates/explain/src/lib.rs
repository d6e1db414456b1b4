//! Retry policies explained by arithmetic: time line, worst case, load, findings, and a choice.
//!
//! ```
//! use stagger_core::{Policy, Span};
//! use stagger_explain::{Setting, explain};
//! let setting = Setting { slo: Some(Span::from_secs(9)), ..Setting::default() };
//! let explanation = explain(&Policy::interactive()?, &setting);
//! assert_eq!(explanation.attempts.len(), 3);
//! assert_eq!(explanation.worst_case, Some(Span::from_secs(3)));
//! assert!(explanation.slo.is_some_and(|check| check.ok));
//! # Ok::<(), stagger_core::ConfigError>(())
//! ```
//!
//! Whatever has a formula is computed; what has none is drawn by the engine itself under a fixed
//! seed, and says so. Equal policies give equal figures on every machine.
#![forbid(unsafe_code)]

mod budgeted;
mod calls;
mod cap_share;
mod chance;
mod choose;
mod delay;
mod explain;
mod explanation;
mod figure;
mod finding;
mod fleet;
mod lint;
mod load;
mod lone_call;
mod timeline;
mod worst_case;

pub use choose::{Answers, Choice, LineReason, QUESTIONS, Question, QuestionKey, Repeat, choose};
pub use explain::explain;
pub use explanation::{
    CapShare, Explanation, Extent, FleetBudget, LoadFactor, Method, PlannedAttempt, Quantiles,
    Setting, SloCheck,
};
pub use finding::{Code, PolicyFinding, Severity, UnknownCode};
pub use lint::lint;
