//! `stagger lint`.

mod command;
mod github;
mod json;
mod report;
mod sarif;
mod sheet;
mod text;

pub(crate) use command::lint;
