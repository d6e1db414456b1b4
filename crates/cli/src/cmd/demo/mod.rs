//! `stagger demo`: the dispatcher against a receiver that fails for a while, in real time.
//!
//! One message goes to three endpoints of one receiver, which differ in their policies. All figures are
//! the receiver's counts.

mod command;
mod dispatcher;
mod receiver;
mod screen;

pub(crate) use command::demo;
