//! Sources: consumers of a broker's messages, which become messages of an application.
//!
//! A message is acknowledged once it is durable. Until then it is the broker's, so a crash, a store that is away or a
//! node without room loses nothing: the message comes again, and its id makes it one with the first. A message that can never
//! be accepted goes to the dead letters of the source, and holds up no other.

mod accept;
mod consumer;
#[cfg(test)]
mod consumer_test;
mod figures;
mod running;

pub(crate) use running::RunningSources;
