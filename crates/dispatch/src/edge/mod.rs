//! The HTTP edge: connections of clients, their number, their timeouts, and the descriptors of the process.
//!
//! A client that is slow, silent or greedy costs the others nothing: each connection has a deadline for
//! every phase in which it is the client's turn, and when all connections are taken, the client that has
//! kept the node waiting for the longest loses its connection to the next one.

mod body;
mod channel_body;
mod connection;
mod descriptors;
mod metrics;
mod phase;
mod server;
mod shared_answer;
mod stream;
mod table;
#[cfg(test)]
mod tests;
mod wrong_keys;

pub(crate) use channel_body::ChannelBody;
pub(crate) use descriptors::Descriptors;
#[cfg(feature = "otel")]
pub(crate) use metrics::PLACE;
pub(crate) use metrics::describe;
pub(crate) use server::HttpEdge;
#[cfg(feature = "otel")]
pub(crate) use server::REFUSED;
pub(crate) use shared_answer::SharedAnswer;
#[cfg(feature = "otel")]
pub(crate) use wrong_keys::WRONG;
pub(crate) use wrong_keys::WrongKeys;
