#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod alarm;
mod budget_advice;
mod caller_table;
mod counter_watch;
mod detector;
mod exposition;
mod layers;
mod log_clock;
mod retry_estimate;
mod settings;
mod synchrony;
mod top_sources;
mod verdict;
mod window_counts;

pub use budget_advice::BudgetAdvice;
pub use counter_watch::{CounterNames, CounterWatch, OtherCounter};
pub use detector::{StormDetector, WatchTotals};
pub use exposition::{ExpositionError, Sample, parse_exposition};
pub use layers::LayerFactors;
pub use retry_estimate::{AttemptEvidence, RetryEstimate};
pub use settings::WatchSettings;
pub use synchrony::Synchrony;
pub use top_sources::TopSource;
pub use verdict::{StormSummary, StormVerdict, WatchEvent};
