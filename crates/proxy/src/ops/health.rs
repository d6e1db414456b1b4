//! Health checks: whether the process lives, and whether it takes calls.

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;

/// Answers a request to the admin listener. A proxy that drains is alive and not ready.
pub(crate) fn answer<B>(request: &Request<B>, draining: bool) -> Response<Full<Bytes>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return reply(StatusCode::METHOD_NOT_ALLOWED, "GET or HEAD\n");
    }
    match request.uri().path() {
        "/healthz" => reply(StatusCode::OK, "alive\n"),
        "/readyz" if draining => reply(StatusCode::SERVICE_UNAVAILABLE, "draining\n"),
        "/readyz" => reply(StatusCode::OK, "ready\n"),
        _ => reply(StatusCode::NOT_FOUND, "there are /healthz and /readyz\n"),
    }
}

fn reply(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    let mut reply = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
    *reply.status_mut() = status;
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_that_drains_was_sent_new_calls() {
        let status = |path, draining| {
            let request = Request::get(path).body(()).expect("a request");
            answer(&request, draining).status().as_u16()
        };
        assert_eq!((status("/readyz", false), status("/readyz", true)), (200, 503));
        assert_eq!((status("/healthz", true), status("/", false)), (200, 404));
    }
}
