//! Access logs in the storm lab.
mod answer;
mod attempt;
mod decimal;
mod format;
mod lines;
mod stamp;
mod unit;

pub use answer::Answer;
pub use attempt::{Attempt, Caller};
pub use format::{Format, LogMap};
pub use stamp::Stamp;
