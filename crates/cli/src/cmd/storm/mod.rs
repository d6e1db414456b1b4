//! `stagger storm`: outages in virtual time, and what retries make of them.

mod applies;
mod axis;
mod command;
mod effort;
mod files;
mod grid;
mod heat;
mod joined;
mod list;
mod policy;
mod replay;
mod source;
mod stage;
mod target;

pub(crate) use command::storm;
