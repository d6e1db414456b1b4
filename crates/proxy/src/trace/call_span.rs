//! The span of one call, from the head of its request to the head of its reply, and the headers of its attempts.

use std::pin::Pin;

use http::{HeaderMap, Method, Request, StatusCode};
use tracing::field::Empty;
use tracing::{Instrument, Span};

/// The span of one call: a child of the caller's span, and the parent of the spans of its attempts.
#[derive(Debug)]
pub(crate) struct CallSpan(Span);

impl CallSpan {
    /// Starts the span of a call to this route. Nothing listens to its target unless traces are exported, and then it
    /// costs nothing.
    pub(crate) fn start<B>(route: &str, request: &Request<B>) -> Self {
        let method = known(request.method());
        let span = tracing::info_span!(
            target: "stagger_trace",
            "stagger.call",
            otel.name = format_args!("{method} {route}"),
            otel.kind = "server",
            otel.status_code = Empty,
            http.request.method = method,
            http.response.status_code = Empty,
            url.scheme = "http",
            url.path = request.uri().path(),
            server.address = server(request),
            stagger.route = route,
            stagger.attempts = Empty,
            "error.type" = Empty,
        );
        #[cfg(feature = "otel")]
        super::context::continue_trace(&span, request.headers());
        Self(span)
    }

    /// Makes the call inside the span. The caller pins it: moved in here, it would take its room twice.
    pub(crate) async fn follow<F: Future>(&self, call: Pin<&mut F>) -> F::Output {
        call.instrument(self.0.clone()).await
    }

    /// The call ends with a reply of the upstream. Numbers are i64, because tracing-opentelemetry writes every other
    /// integer as text.
    pub(crate) fn answered(&self, status: StatusCode) {
        self.0.record("http.response.status_code", i64::from(status.as_u16()));
        // OpenTelemetry's rule for servers: what the client did wrong is no error of theirs.
        if status.is_server_error() {
            self.failed(status.as_str());
        }
    }

    /// The call ends with a reply of the proxy's own, for this stop reason.
    pub(crate) fn refused(&self, status: StatusCode, stop: &str, attempts: u32) {
        self.0.record("http.response.status_code", i64::from(status.as_u16()));
        self.0.record("stagger.attempts", i64::from(attempts));
        self.failed(stop);
    }

    fn failed(&self, kind: &str) {
        self.0.record("error.type", kind);
        self.0.record("otel.status_code", "ERROR");
    }
}

/// Tells the upstream of the current span, that of an attempt, in place of the caller's. Without traces the headers pass
/// as they come.
#[cfg_attr(not(feature = "otel"), expect(unused_variables, reason = "nothing is told"))]
pub(crate) fn pass_on(headers: &mut HeaderMap) {
    #[cfg(feature = "otel")]
    super::context::write_current(headers);
}

/// The server that the request names, without its port.
fn server<B>(request: &Request<B>) -> Option<&str> {
    let of_uri = request.uri().host();
    let by_header = || request.headers().get(http::header::HOST)?.to_str().ok();
    of_uri.or_else(|| {
        let host = by_header()?;
        // The colons of an address in brackets separate no port.
        let end = host.rfind(']').map_or(0, |end| end + 1);
        let port = host.get(end..).and_then(|rest| rest.find(':'));
        port.map_or(Some(host), |port| host.get(..end + port))
    })
}

/// The method, unless it is one that a request could make up.
fn known(method: &Method) -> &str {
    match *method {
        Method::CONNECT
        | Method::DELETE
        | Method::GET
        | Method::HEAD
        | Method::OPTIONS
        | Method::PATCH
        | Method::POST
        | Method::PUT
        | Method::TRACE => method.as_str(),
        _ => "_OTHER",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_was_told_with_its_port() {
        for (uri, host, expected) in [
            ("/", "api.internal:8080", "api.internal"),
            ("/", "api.internal", "api.internal"),
            ("/", "[::1]:80", "[::1]"),
            ("/", "[::1]", "[::1]"),
            ("http://named.example:81/", "other", "named.example"),
        ] {
            let request = Request::get(uri).header("host", host).body(()).expect("a request");
            assert_eq!(server(&request), Some(expected), "{uri} {host}");
        }
        assert_eq!(server(&Request::new(())), None);
    }
}
