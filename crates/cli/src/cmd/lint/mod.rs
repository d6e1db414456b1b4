//! `stagger lint`.

mod command;
mod findings;
mod github;
mod json;
mod sarif;
mod text;

pub(crate) use command::lint;
