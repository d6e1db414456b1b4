//! `stagger tune`: worlds and an objective in, the best of many policies and the front out.

mod command;
mod json;
mod page;
mod worlds;

pub(crate) use command::tune;
