//! `stagger choose`.

mod command;

pub(crate) use command::choose;
