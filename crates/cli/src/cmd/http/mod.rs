//! `stagger http`: one request as a call under a policy, with every attempt reported.
//!
//! `request` and `client` come from the flags, and `exchange` is the call and its reply. `event` is an attempt as
//! data, and `reporter` writes it.

mod command;
mod download;
mod event;
mod policy;
mod reporter;
mod request;

pub(crate) use command::http;
pub(crate) use request::tls;
