//! Requests to the admin listener.

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;

use super::{health, metrics, page, reply};
use crate::stats::{Refusal, Snapshot};

/// Answers a request to the admin listener. The figures are asked for where they are shown; the refusals are texts, which
/// a scrape of the metrics need not copy.
pub(crate) fn answer<B>(
    request: &Request<B>,
    draining: bool,
    (snapshot, refusals): (impl FnOnce() -> Snapshot, impl FnOnce() -> Vec<Refusal>),
) -> Response<Full<Bytes>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return reply::text(StatusCode::METHOD_NOT_ALLOWED, "GET or HEAD\n");
    }
    match request.uri().path() {
        "/healthz" => health::alive(),
        "/readyz" => health::ready(draining),
        "/metrics" => metrics::answer(&snapshot()),
        "/" => page::answer(&snapshot(), refusals()),
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
            let figures = (|| unreachable!("no figures"), || unreachable!("no refusals"));
            answer(&request, draining, figures).status().as_u16()
        };
        let get = |path, draining| status(Method::GET, path, draining);
        assert_eq!((get("/readyz", false), get("/readyz", true)), (200, 503));
        assert_eq!((get("/healthz", true), get("/other", false)), (200, 404));
        assert_eq!(status(Method::POST, "/", false), 405);
    }

    #[test]
    fn a_scrape_copied_all_refusals() {
        let request = Request::get("/metrics").body(()).expect("a request");
        let figures = (page::tests::busy, || unreachable!("metrics have no refusals"));
        assert_eq!(answer(&request, false, figures).status(), StatusCode::OK);
    }
}
