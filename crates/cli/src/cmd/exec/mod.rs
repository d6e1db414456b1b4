//! `stagger exec`.

mod command;

pub(crate) use command::exec;
