//! What a retry policy does, by arithmetic: time line, worst case, load, findings, and a choice.
#![forbid(unsafe_code)]

mod cap_share;
mod chance;
mod explanation;
mod finding;
mod lint;
mod setting;
mod worst_case;

pub use explanation::{
    Attempt, CapShare, Explanation, FleetBudget, LoadFactor, Method, Quantiles, SloCheck,
};
pub use finding::{Code, Finding, Severity, UnknownCode};
pub use lint::lint;
pub use setting::Setting;
