//! `stagger storm`: outages in virtual time, and the effect of retries on them.

mod axis;
mod case_groups;
mod command;
mod files;
mod grid;
mod known_options;
mod page;
mod playback;
mod replay;
mod scenario_source;
mod target;

pub(crate) use command::storm;
