//! The security headers of every response.

use axum::response::Response;
use http::HeaderMap;
use http::header::{
    CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};

/// Nothing but our own files, no inline scripts or styles, no eval, no frames (CSP level 3).
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);

/// Not `no-referrer`: browsers would then hide the origin of our own forms, which [`super::sessions`]
/// looks at (Fetch standard, "append a request Origin header").
const REFERRER: HeaderValue = HeaderValue::from_static("same-origin");

const OPENER: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// Adds the headers to an answer.
pub(super) async fn add(mut response: Response) -> Response {
    put(response.headers_mut());
    response
}

fn put(headers: &mut HeaderMap) {
    headers.insert(CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, REFERRER);
    headers.insert(OPENER, HeaderValue::from_static("same-origin"));
    headers.insert(RESOURCE, HeaderValue::from_static("same-origin"));
}
