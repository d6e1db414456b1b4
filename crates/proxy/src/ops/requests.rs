//! Requests to the admin listener.

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;

use super::{health, metrics, page, reply};
use crate::stats::Snapshot;

/// Answers a request to the admin listener; `snapshot` is asked where figures are shown.
pub(crate) fn answer<B>(
    request: &Request<B>,
    draining: bool,
    snapshot: impl FnOnce() -> Snapshot,
) -> Response<Full<Bytes>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return reply::text(StatusCode::METHOD_NOT_ALLOWED, "GET or HEAD\n");
    }
    match request.uri().path() {
        "/healthz" => health::alive(),
        "/readyz" => health::ready(draining),
        "/metrics" => metrics::answer(&snapshot()),
        "/" => page::answer(&snapshot()),
        "/page.css" => page::style(),
        _ => reply::text(StatusCode::NOT_FOUND, "there are /, /metrics, /healthz and /readyz\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_that_drains_was_sent_new_calls() {
        let status = |method: Method, path, draining| {
            let request = Request::builder().method(method).uri(path).body(()).expect("a request");
            answer(&request, draining, || unreachable!("no figures")).status().as_u16()
        };
        let get = |path, draining| status(Method::GET, path, draining);
        assert_eq!((get("/readyz", false), get("/readyz", true)), (200, 503));
        assert_eq!((get("/healthz", true), get("/other", false)), (200, 404));
        assert_eq!(status(Method::POST, "/", false), 405);
    }
}
