//! `stagger webhooks` and `stagger listen`: clients of a running dispatcher.
//!
//! `api` makes the requests and words the refusals. `command` is one file for the verbs, `tail` and `listen` are the two
//! that go on until Ctrl-C, and `page` is what people read.

mod api;
mod command;
mod event_types;
mod export;
mod forward;
mod keys;
mod listen;
mod page;
mod tail;

pub(crate) use command::webhooks;
pub(crate) use listen::listen;
