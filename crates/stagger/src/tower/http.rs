//! The layer for HTTP services.

use super::StaggerLayer;
use crate::Retrier;
use crate::http::{ByMethod, HttpReplies};

impl<Z, L> StaggerLayer<Z, L, HttpReplies, ByMethod> {
    /// Calls of HTTP services: replies are judged by status and headers, errors by the I/O error at
    /// their root, and requests by method and `Idempotency-Key`.
    pub fn http(retrier: Retrier<Z, L>) -> Self {
        StaggerLayer::new(retrier).judged_by(HttpReplies::default()).idempotent(ByMethod)
    }
}
