//! `stagger http`: one request as a call under a policy, with every attempt reported.
//!
//! `request` and `client` come from the flags, and `exchange` is the call and its reply. `event` is an attempt as
//! data, and `reporter` writes it.

mod client;
mod command;
mod download;
mod event;
mod exchange;
mod failure;
mod hint_source;
mod policy;
mod reply_writer;
mod reporter;
mod request;
mod secrets;

pub(crate) use command::http;
