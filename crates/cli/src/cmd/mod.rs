//! One file or folder a command.

mod choose;
mod completions;
mod demo;
mod exec;
mod explain;
mod http;
mod import;
mod lint;
mod man;
mod serve;
mod store;
mod storm;

pub(crate) use choose::choose;
pub(crate) use completions::completions;
pub(crate) use demo::demo;
pub(crate) use exec::exec;
pub(crate) use explain::explain;
pub(crate) use http::http;
pub(crate) use import::import;
pub(crate) use lint::lint;
pub(crate) use man::man;
pub(crate) use serve::serve;
pub(crate) use store::store;
pub(crate) use storm::storm;
