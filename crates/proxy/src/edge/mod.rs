//! Connections of clients: their number, their time limits, and the protocol that they speak.
//!
//! A client that is slow, silent or greedy costs the others nothing: there is a limit for each phase in which it is
//! the client's turn.

mod connection;
mod listener;
mod phase;
mod places;
mod served_request;
mod stream;
mod threads;

pub(crate) use connection::EdgeSettings;
pub(crate) use listener::Listener;
pub(crate) use places::{ConnectionPlaces, EdgePhase};
pub(crate) use served_request::{AwaitedBody, BodyWatch, ServedRequest};
pub(crate) use threads::{ServingThreads, ThreadPool};
