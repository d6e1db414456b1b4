#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod budget;
mod call;
mod check;
mod command;
mod context;
mod cool_off;
mod ending;
mod engine_policy;
mod hooks;
mod host_file;
mod outcome;
mod output;
mod output_rules;
mod process_group;
mod reporter;
mod retry_rules;
mod self_stop;
mod side_command;
mod signals;
mod supervisor;
mod terminal;

pub use budget::BudgetFile;
pub use call::Invocation;
pub use check::Check;
pub use command::{Input, OutputMode};
pub use cool_off::CoolOffFile;
pub use hooks::Hooks;
pub use output_rules::{LinePattern, OutputRules};
pub use reporter::{AttemptLog, Verbosity};
pub use retry_rules::{ExitCodes, ExitHint, RetriedExits, RetryRules};
pub use signals::SignalNames;
