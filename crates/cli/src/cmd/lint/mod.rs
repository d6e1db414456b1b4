//! `stagger lint`.

mod command;
mod json;
mod sheet;
mod text;

pub(crate) use command::lint;
