//! `stagger import`.

mod command;

pub(crate) use command::import;
