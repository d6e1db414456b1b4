//! `stagger storm`: outages in virtual time, and what retries make of them.

mod applies;
mod command;
mod effort;
mod list;
mod refusal;
mod replay;
mod stage;
mod target;

pub(crate) use command::storm;
