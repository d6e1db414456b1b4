//! `stagger import`: other products' settings as a policy file.

mod command;
mod page;

pub(crate) use command::import;
