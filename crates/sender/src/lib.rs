#![doc = include_str!("../README.md")]
//!
//! Every connection is dialled in one place: the name is resolved, the egress guard judges all
//! answers, and only an address that passed is connected to, so that no second lookup can answer
//! otherwise. With an [`EgressProxy`] the proxy is asked for that address. No proxy of the environment is used
//! and no redirect is followed. An attempt owns its
//! connection: dropping the attempt closes it.
//!
//! A [`Signer`] signs with all secrets that are in force (`v1`, HMAC-SHA256, and `v1a`, ed25519, over
//! id, timestamp and the bytes of the body), so that a receiver can change its own at any time while
//! they overlap. A [`Verifier`] accepts a message that any of its keys fits. The same secrets make HTTP Message Signatures
//! (RFC 9421) over method, URL, digest of the body and headers, which a [`MessageVerifier`] accepts.
#![forbid(unsafe_code)]

mod address;
mod broker_stream;
mod call;
mod cloud_event;
mod connection;
mod content_digest;
mod credentials;
mod destination;
mod dial;
mod egress_proxy;
mod guard;
mod handshake;
mod header;
mod key_id;
mod message_signature;
mod message_verifier;
#[cfg(test)]
mod message_verifier_test;
mod network;
mod pool;
mod ranges;
mod reply;
mod request;
mod resolver;
mod secret;
mod send_failure;
mod sender;
mod signature_base;
mod signer;
mod tcp;
mod tls;
mod token_cache;
mod token_fetch;
mod verifier;
mod written;

pub use broker_stream::{BrokerAddress, BrokerStream};
pub use call::{HttpAddress, HttpCall, HttpReply};
pub use content_digest::content_digest;
pub use destination::{BrokerDestination, DestinationReply, Destinations, Outgoing};
pub use dial::SendOptions;
pub use egress_proxy::EgressProxy;
pub use guard::{EgressGuard, EgressRefusal};
pub use header::{MAX_HEADERS, check_header};
pub use message_signature::MessageSignatures;
pub use message_verifier::{MessageRejection, MessageVerifier, ReceivedRequest};
pub use network::GuardedNetwork;
pub use request::{Target, TargetPlace};
pub use resolver::{Resolve, SystemResolver};
pub use secret::{generate_secret, os_bytes, os_fill, parse_secret, public_key_text, secret_text};
pub use send_failure::SendFailure;
pub use sender::{Sender, new_span_id};
pub use signature_base::SignedRequest;
pub use signer::{Signer, key_id};
pub use verifier::{Received, Rejection, TOLERANCE, Verifier};
pub use written::Written;
