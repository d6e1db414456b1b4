//! `stagger lint`.

mod command;

pub(crate) use command::lint;
