//! Classification of outcomes: the HTTP and gRPC tables, and transport errors.
//!
//! Nothing is retried by default except through these tables. Each of them gives an
//! [`Outcome`](crate::Outcome). No text of a message is ever searched: the same words mean opposite things to
//! different providers.

mod grpc;
mod http;
#[cfg(feature = "std")]
mod io;
mod transport;

pub use grpc::{Code, CodeSet, UnknownCode, classify_grpc};
pub use http::{HttpReply, HttpRules, is_idempotent, read_should_retry};
#[cfg(feature = "std")]
pub use io::{MAX_SOURCE_DEPTH, classify_error, classify_io, sources};
pub use transport::TransportRules;
