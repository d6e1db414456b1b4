//! `stagger storm`: outages in virtual time, and the effect of retries on them.

mod command;
mod export;
mod files;
mod grid;
mod known_options;
mod memory;
mod pages;
mod playback;
mod replay;
mod scenario_source;
mod sockets;
mod target;

pub(crate) use command::storm;
pub(crate) use files::command_line;
