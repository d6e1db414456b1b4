//! `stagger explain`.

mod command;

pub(crate) use command::explain;
