#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod access_log;
mod attempt_collector;
mod cells;
mod chance_matches;
mod durations;
mod error;
mod excerpt;
mod failing;
mod fault_length;
mod findings;
mod format;
mod line_order;
mod line_parser;
mod lines;
mod log_file;
mod logged_attempt;
mod observed;
mod open_calls;
mod outage;
mod reading;
mod replay;
mod retry_law;
mod separation;
mod spread;
mod stamp;
mod stated_outage;
mod sustained;
mod thresholds;
mod verdict;

pub use access_log::{AccessLog, MemoryPeak};
pub use error::{BadLine, ReadError};
pub use format::{AccessLogFormat, LogMap};
pub use line_parser::LineParser;
pub use logged_attempt::{CallerIdentity, LoggedAttempt, LoggedNames, LoggedOutcome};
pub use observed::OBSERVED;
pub use open_calls::RetryEvidence;
pub use outage::{InferredOutage, OutageKind};
pub use reading::{LogInput, Reading, RetryRule};
pub use replay::{Replay, ReplayOptions};
pub use retry_law::{ObservedDelays, ObservedRetries};
pub use stamp::Stamp;
pub use stated_outage::StatedOutage;
pub use thresholds::OutageThresholds;
pub use verdict::{ReplayVerdict, SelfCheck};
