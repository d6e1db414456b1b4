//! Signatures of Standard Webhooks 1.0.0: `v1` (HMAC-SHA256) and `v1a` (ed25519) over id, timestamp
//! and the bytes of the body, joined by full stops.
//!
//! A sender signs with all secrets that are in force, so that a receiver can change its own at any
//! time while they overlap; a receiver accepts a message that any of its keys fits.

mod random;
mod signer;
mod verifier;

pub(crate) use random::{os_bytes, os_fill};
pub use signer::Signer;
pub use verifier::{Received, Rejection, TOLERANCE, Verifier};
