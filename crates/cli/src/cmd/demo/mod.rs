//! `stagger demo`: the dispatcher against a receiver that fails for a while, in real time.
//!
//! One message goes to three endpoints of one receiver, which differ in how they are retried. All
//! figures are what the receiver counted.

mod command;
mod part;
mod path;
mod play;
mod receiver;
mod screen;
mod stage;
mod tally;

pub(crate) use command::demo;
