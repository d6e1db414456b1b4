//! `stagger http`.

mod command;

pub(crate) use command::http;
