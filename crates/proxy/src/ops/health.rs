//! Health checks: whether the process lives, and whether it takes calls.

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;

use super::reply::text;

/// `GET /healthz`: the process answers, so it lives.
pub(super) fn alive() -> Response<Full<Bytes>> {
    text(StatusCode::OK, "alive\n")
}

/// `GET /readyz`: a proxy that drains is alive and takes no calls. One whose new settings were refused serves under the old
/// ones, so it is ready.
pub(super) fn ready(draining: bool) -> Response<Full<Bytes>> {
    if draining {
        return text(StatusCode::SERVICE_UNAVAILABLE, "draining\n");
    }
    text(StatusCode::OK, "ready\n")
}
