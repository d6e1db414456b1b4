//! The command line: every flag with its default, range and reason.

mod command;
mod demo;
mod serve;
mod store;
mod storm;

pub(crate) use command::{Command, Flags};
pub(crate) use demo::DemoFlags;
pub(crate) use serve::ServeFlags;
pub(crate) use store::{StoreCommand, StoreFlags};
pub(crate) use storm::{Format, StormFlags};
