//! Access logs in the storm lab.
mod answer;
mod attempt;
mod calls;
mod cells;
mod decimal;
mod error;
mod format;
mod gather;
mod lines;
mod log;
mod outage;
mod reading;
mod slow;
mod spread;
mod stamp;
mod unit;

pub use answer::Answer;
pub use attempt::{Attempt, Caller};
pub use calls::Told;
pub use error::{BadLine, ReadError};
pub use format::{Format, LogMap};
pub use log::{Held, Log};
pub use outage::{Kind, Outage};
pub use reading::Reading;
pub use stamp::Stamp;
