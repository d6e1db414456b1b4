//! `stagger demo`: the dispatcher against a receiver that fails for a while, in real time.
//!
//! One message goes to three endpoints of one receiver, which differ in their policies. All figures are
//! the receiver's counts.

mod breaker_history;
mod command;
mod counts;
mod dispatcher;
mod endpoint;
mod receiver;
mod screen;

pub(crate) use command::demo;
