//! Connections of clients: their number, their time limits, and the protocol that they speak.
//!
//! A client that is slow, silent or greedy costs the others nothing: there is a limit for each phase in which it is
//! the client's turn.

mod connection;
mod exchange;
mod listener;
mod phase;
mod stream;

pub(crate) use connection::EdgeSettings;
pub(crate) use exchange::{AwaitedBody, BodyWatch, Exchange};
pub(crate) use listener::{EdgePhase, Listener, Places};
