//! `stagger explain`: a policy in figures and in words.

mod account;
mod budget;
mod command;
mod fleet;
mod glued;
mod json;
mod page;
mod range;
mod text;
mod words;

pub(crate) use command::explain;
