//! The command line: every flag with its default, range and reason.

mod calls;
mod choose;
mod command;
mod completions;
mod demo;
mod exec;
mod explain;
mod http;
mod import;
mod lint;
mod serve;
mod store;
mod storm;

pub(crate) use calls::CallsFlags;
pub(crate) use choose::{ChooseFlags, ChooseFormat};
pub(crate) use command::{Command, Flags};
pub(crate) use completions::{CompletionsFlags, ManFlags};
pub(crate) use demo::DemoFlags;
pub(crate) use exec::ExecFlags;
pub(crate) use explain::ExplainFlags;
pub(crate) use http::HttpFlags;
pub(crate) use import::{ImportFlags, ImportFormat};
pub(crate) use lint::{Deny, LintFlags, LintFormat};
pub(crate) use serve::ServeFlags;
pub(crate) use store::{StoreCommand, StoreFlags};
pub(crate) use storm::{Format, StormFlags};
