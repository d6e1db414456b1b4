//! `stagger http`: one request as a call under a policy, with every attempt told.
//!
//! `order` is what the flags ask for, `policy` and `client` who makes it so, `exchange` the call and
//! its reply; `event` is an attempt as data, `hint_source` the header behind a hint, `teller` who says
//! it, `secrets` hides credentials, `failure` is what went wrong and its exit code, `download` the body
//! on its way to its `outlet`, `again` what is left of the policy when it broke off.

mod again;
mod client;
mod command;
mod download;
mod event;
mod exchange;
mod failure;
mod hint_source;
mod order;
mod outlet;
mod policy;
mod secrets;
mod teller;

pub(crate) use command::http;
