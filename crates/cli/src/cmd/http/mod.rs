//! `stagger http`: requests as calls under a policy, with every attempt reported.
//!
//! `target`, `request`, `data`, `multipart` and `tls` come from the flags. `command` is the calls and their replies, which
//! `classification` judges, and `download` with `decoder` is the body on its way. `event` is an attempt as data, and
//! `reporter` writes it.

mod classification;
mod command;
mod data;
mod decoder;
mod download;
mod event;
mod multipart;
mod policy;
mod reporter;
mod request;
mod target;
mod tls;

pub(crate) use command::http;
pub(crate) use tls::tls;
