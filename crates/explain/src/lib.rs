//! What a retry policy does, by arithmetic: time line, worst case, load, findings, and a choice.
#![forbid(unsafe_code)]

mod choose;
mod explanation;
mod finding;
mod setting;

pub use choose::{Answers, Choice, Key, Line, QUESTIONS, Question, Repeat, choose};
pub use explanation::{
    Attempt, CapShare, Explanation, FleetBudget, LoadFactor, Method, Quantiles, SloCheck,
};
pub use finding::{Code, Finding, Severity};
pub use setting::Setting;
