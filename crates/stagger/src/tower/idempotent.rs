//! Idempotency of requests.

/// Says whether sending a request twice is the same as sending it once.
///
/// Any `Fn(&Request) -> bool` does. A request that is not idempotent is retried only after failures
/// that the server cannot have acted on.
///
/// ```
/// use stagger::tower::Idempotent;
/// let reads = |command: &&str| command.starts_with("GET ");
/// assert!(reads.is_idempotent(&"GET stock"));
/// assert!(!reads.is_idempotent(&"INCR stock"));
/// ```
pub trait Idempotent<Req> {
    /// Whether this request may be sent twice.
    fn is_idempotent(&self, request: &Req) -> bool;
}

impl<Req, F: Fn(&Req) -> bool> Idempotent<Req> for F {
    fn is_idempotent(&self, request: &Req) -> bool {
        self(request)
    }
}

#[cfg(feature = "http")]
impl<B> Idempotent<http::Request<B>> for crate::http::ByMethod {
    fn is_idempotent(&self, request: &http::Request<B>) -> bool {
        self.allows(request.method(), request.headers())
    }
}

/// Every request may be sent twice, because the caller said what to retry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EveryRequest;

impl<Req> Idempotent<Req> for EveryRequest {
    fn is_idempotent(&self, _: &Req) -> bool {
        true
    }
}
