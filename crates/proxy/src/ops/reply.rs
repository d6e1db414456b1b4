//! Replies of the admin listener, with the headers that keep a browser from making more of them than they are.

use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use http_body_util::Full;

/// One style sheet of its own, no scripts, no frames, no forms (CSP level 3).
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
);
const RESOURCE: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// A reply of this type, which is of this moment.
pub(super) fn of_type(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<Bytes>,
) -> Response<Full<Bytes>> {
    let mut reply = Response::new(Full::new(body.into()));
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, HeaderValue::from_static(content_type)),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (RESOURCE, HeaderValue::from_static("same-origin")),
    ] {
        headers.insert(name, value);
    }
    reply
}

/// A line for people and probes.
pub(super) fn text(status: StatusCode, line: &'static str) -> Response<Full<Bytes>> {
    of_type(status, "text/plain; charset=utf-8", line)
}
