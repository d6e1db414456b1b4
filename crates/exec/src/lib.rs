#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod budget;
mod call;
mod command;
mod context;
mod outcome;
mod output;
mod process_group;
mod reporter;
mod retry_rules;
mod signals;
mod supervisor;
mod terminal;

pub use budget::BudgetFile;
pub use call::Invocation;
pub use command::{Input, OutputMode};
pub use reporter::{AttemptLog, Verbosity};
pub use retry_rules::{ExitCodes, RetriedExits, RetryRules};
pub use signals::SignalNames;
