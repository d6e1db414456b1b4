//! `stagger explain`: a policy in figures and in words.

mod account;
mod budget;
mod command;
mod json;
mod text;
mod words;

pub(crate) use command::explain;
