//! Amazon SQS, and servers with its interface (JSON protocol, Signature Version 4).
//!
//! Requests are signed here: the signer of AWS asks for a later Rust than this workspace does, and brings a runtime of its own.

mod client;
mod credentials;
mod destination;
mod signature;
mod source;

pub use credentials::AwsCredentials;
pub(crate) use destination::SqsPublisher;
pub use source::{SqsSource, SqsSourceSettings};
