//! The command line: every flag with its default, range and reason.

mod calls;
mod choose;
mod command;
mod completed;
mod completions;
#[cfg(test)]
mod examples_test;
mod exec;
mod exit_codes;
mod explain;
mod http;
mod import;
mod lint;
mod serve;
mod signal_names;
mod store;
mod storm;

pub(crate) use calls::CallsFlags;
pub(crate) use choose::{ChooseFlags, ChooseFormat};
pub(crate) use command::{Command, DemoFlags, Flags};
pub(crate) use completed::preset;
pub(crate) use completions::{CompletedShell, CompletionsFlags, ManFlags};
pub(crate) use exec::{Attempts, ExecFlags, ExecPolicyFlags, OutputMode, StdinMode};
pub(crate) use exit_codes::ExitCodes;
pub(crate) use explain::{ExplainFlags, ExplainFormat};
pub(crate) use http::{HttpFlags, HttpFormat, HttpPolicyFlags};
pub(crate) use import::{ImportFlags, ImportFormat};
pub(crate) use lint::{Deny, LintFlags, LintFormat};
pub(crate) use serve::ServeFlags;
pub(crate) use signal_names::{SignalNames, signal_name};
pub(crate) use store::{StoreCommand, StoreFlags};
pub(crate) use storm::{StormFlags, StormFormat};
