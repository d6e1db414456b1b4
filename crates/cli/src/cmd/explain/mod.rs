//! `stagger explain`: a policy in figures and in words.

mod account;
mod budget;
mod command;
mod glued;
mod json;
mod page;
mod text;
mod words;

pub(crate) use command::explain;
