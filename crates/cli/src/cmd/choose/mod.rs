//! `stagger choose`: answers from flags or from a terminal, a policy with its reasons on the page.

mod answers;
mod command;
mod rust;

pub(crate) use command::choose;
