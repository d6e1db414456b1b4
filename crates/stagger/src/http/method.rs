//! Idempotency of HTTP requests, by method and header.

use ::http::{HeaderMap, Method};
use stagger_core::classify::is_idempotent;

use super::IdempotencyKey;

/// Requests of an idempotent method may be sent twice (RFC 9110 section 9.2.2), and those with an
/// `Idempotency-Key`.
///
/// ```
/// use http::{HeaderMap, Method};
/// use stagger::http::ByMethod;
/// let mut headers = HeaderMap::new();
/// assert!(ByMethod.allows(&Method::PUT, &headers) && !ByMethod.allows(&Method::POST, &headers));
/// headers.insert("idempotency-key", "\"8e03978e\"".parse()?);
/// assert!(ByMethod.allows(&Method::POST, &headers));
/// # Ok::<(), http::header::InvalidHeaderValue>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByMethod;

impl ByMethod {
    /// Whether a request of this method with these headers may be sent twice.
    #[must_use]
    pub fn allows(&self, method: &Method, headers: &HeaderMap) -> bool {
        is_idempotent(method.as_str()) || headers.contains_key(IdempotencyKey::HEADER)
    }
}
