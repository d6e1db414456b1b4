//! One file or folder a command.

mod call_policy;
mod choose;
mod demo;
mod dispatcher;
mod exec;
mod explain;
mod export;
mod http;
mod import;
mod import_routes;
mod lint;
mod manual;
mod operator;
mod proxy;
mod storm;
mod tune;
mod watch;
mod webhooks;

pub(crate) use choose::choose;
pub(crate) use demo::demo;
pub(crate) use dispatcher::{serve, store};
pub(crate) use exec::exec;
pub(crate) use explain::explain;
pub(crate) use export::export;
pub(crate) use http::http;
pub(crate) use import::import;
pub(crate) use lint::lint;
pub(crate) use manual::{completions, man};
pub(crate) use operator::operator;
pub(crate) use proxy::proxy;
pub(crate) use storm::{command_line, storm};
pub(crate) use tune::tune;
pub(crate) use watch::watch;
pub(crate) use webhooks::{listen, webhooks};
