//! `stagger lint`.

mod command;
mod findings;
mod foreign;
mod machine;

pub(crate) use command::lint;
