//! One span for each attempt of an HTTP call, named as OpenTelemetry names those of clients.
#![cfg_attr(
    not(feature = "tracing"),
    expect(unused_variables, reason = "without tracing nothing is taken")
)]

#[cfg(all(feature = "http", feature = "tower"))]
use ::http::{header::HOST, request::Parts, uri::Authority};

/// The request of an attempt, as its [`HttpSpan`] tells of it.
#[cfg_attr(not(feature = "tracing"), expect(dead_code, reason = "read for spans alone"))]
pub struct HttpTarget<'r> {
    pub(crate) method: &'r str,
    /// As it is: credentials and secrets are taken out here.
    pub(crate) url: String,
    pub(crate) address: Option<String>,
    pub(crate) port: Option<u16>,
}

/// Without the URL, which may have a secret.
impl std::fmt::Debug for HttpTarget<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpTarget").field("method", &self.method).finish_non_exhaustive()
    }
}

#[cfg(all(feature = "http", feature = "tower"))]
impl<'r> HttpTarget<'r> {
    /// The target of a request. A URI without a server has the one of the `Host` header.
    #[must_use]
    pub fn of(head: &'r Parts) -> Self {
        let uri = &head.uri;
        let named = || head.headers.get(HOST)?.to_str().ok()?.parse::<Authority>().ok();
        let server = uri.authority().cloned().or_else(named);
        let known = match uri.scheme_str() {
            Some("http") => Some(80),
            Some("https") => Some(443),
            _ => None,
        };
        let port = server.as_ref().and_then(Authority::port_u16).or(known);
        let url = match &server {
            Some(server) if uri.authority().is_none() => format!("//{server}{uri}"),
            _ => uri.to_string(),
        };
        let address = server.map(|server| server.host().to_owned());
        Self { method: head.method.as_str(), url, address, port }
    }
}

/// The span `stagger.http.attempt` of one attempt, for programs that send attempts by other means than the reqwest client
/// and tower's HTTP layer, which make it themselves.
///
/// Dropped without an end, it tells that the attempt was cancelled: its time ran out, its caller went away, or another
/// copy was faster.
///
/// ```
/// # #[cfg(all(feature = "http", feature = "tower"))] {
/// use stagger::observe::{HttpSpan, HttpTarget};
/// let request = http::Request::get("https://a.example/stock?token=secret").body(());
/// let (head, ()) = request.expect("a request").into_parts();
/// let mut span = HttpSpan::start(1, || HttpTarget::of(&head));
/// let reply = span.enter(|| 503); // sends the request
/// span.replied(reply);
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a span that is dropped tells that its attempt was cancelled"]
pub struct HttpSpan {
    #[cfg(feature = "tracing")]
    span: tracing::Span,
    #[cfg(feature = "tracing")]
    ended: bool,
}

impl HttpSpan {
    /// Starts the span of attempt `number`, counted from 1. `target` is asked only if a subscriber wants the span.
    pub fn start<'r>(number: u32, target: impl FnOnce() -> HttpTarget<'r>) -> Self {
        #[cfg(feature = "tracing")]
        {
            if !tracing::enabled!(target: "stagger::http", tracing::Level::DEBUG) {
                return Self { span: tracing::Span::none(), ended: true };
            }
            Self { span: span(number, &target()), ended: false }
        }
        #[cfg(not(feature = "tracing"))]
        Self {}
    }

    /// Does `work` inside the span.
    pub fn enter<T>(&self, work: impl FnOnce() -> T) -> T {
        #[cfg(feature = "tracing")]
        let _inside = self.span.enter();
        work()
    }

    /// Does `work` inside the span, whenever it is polled.
    #[cfg(feature = "reqwest")]
    pub(crate) async fn follow<F: Future>(&self, work: F) -> F::Output {
        #[cfg(feature = "tracing")]
        let work = tracing::Instrument::instrument(work, self.span.clone());
        work.await
    }

    /// The attempt ended with a reply of this status.
    pub fn replied(&mut self, status: u16) {
        #[cfg(feature = "tracing")]
        if !self.ended {
            self.span.record("http.response.status_code", i64::from(status));
            // OpenTelemetry's rule for clients: 4xx are errors too, and the type is the status itself.
            if status >= 400 {
                self.failed(&status.to_string());
            }
            self.ended = true;
        }
    }

    /// The attempt ended with a reply of this status, in which the server tells an error of this kind, as gRPC does.
    pub fn replied_with_error(&mut self, status: u16, kind: &str) {
        #[cfg(feature = "tracing")]
        if !self.ended {
            self.span.record("http.response.status_code", i64::from(status));
            self.failed(kind);
        }
    }

    /// The attempt ended without a reply.
    pub fn failed(&mut self, kind: &str) {
        #[cfg(feature = "tracing")]
        if !self.ended {
            self.span.record("error.type", kind);
            self.span.record("otel.status_code", "ERROR");
            self.ended = true;
        }
    }
}

#[cfg(feature = "tracing")]
impl Drop for HttpSpan {
    fn drop(&mut self) {
        self.failed("cancelled");
    }
}

/// Numbers are i64, because tracing-opentelemetry writes every other integer as text.
#[cfg(feature = "tracing")]
fn span(number: u32, target: &HttpTarget<'_>) -> tracing::Span {
    let method = known_method(target.method);
    tracing::span!(
        target: "stagger::http",
        tracing::Level::DEBUG,
        "stagger.http.attempt",
        otel.name = if method == OTHER { "HTTP" } else { method },
        otel.kind = "client",
        otel.status_code = tracing::field::Empty,
        http.request.method = method,
        http.request.method_original = (method == OTHER).then_some(target.method),
        http.request.resend_count = (number > 1).then(|| i64::from(number) - 1),
        http.response.status_code = tracing::field::Empty,
        server.address = target.address.as_deref(),
        server.port = target.port.map(i64::from),
        url.full = redacted(&target.url),
        "error.type" = tracing::field::Empty,
    )
}

/// The name for a method or an error that is none of the known ones.
#[cfg(feature = "tracing")]
const OTHER: &str = "_OTHER";

/// The method, unless it is one that a request could make up.
#[cfg(feature = "tracing")]
fn known_method(method: &str) -> &str {
    const KNOWN: [&str; 9] =
        ["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"];
    if KNOWN.contains(&method) { method } else { OTHER }
}

/// The name of an error type as a value of `error.type`; a box does not name what is in it.
#[cfg(all(feature = "http", feature = "tower"))]
pub(crate) fn error_kind<E>() -> &'static str {
    let name = std::any::type_name::<E>();
    if name.starts_with("alloc::boxed::Box<dyn") { "_OTHER" } else { name }
}

/// The URL without its fragment, with `REDACTED` for its user, its password and the values of query
/// parameters that are secrets by their names.
#[cfg(feature = "tracing")]
fn redacted(url: &str) -> String {
    const REDACTED: &str = "REDACTED";
    let url = url.split('#').next().unwrap_or_default();
    let (base, query) =
        url.split_once('?').map_or((url, None), |(base, query)| (base, Some(query)));
    let mut text = String::with_capacity(url.len());
    match base.split_once("//") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            text.extend([scheme, "//"]);
            match authority.rsplit_once('@') {
                Some((user, host)) => {
                    let password = if user.contains(':') { ":REDACTED@" } else { "@" };
                    text.extend([REDACTED, password, host]);
                }
                None => text.push_str(authority),
            }
            text.push_str(path);
        }
        None => text.push_str(base),
    }
    let Some(query) = query else { return text };
    for (at, pair) in query.split('&').enumerate() {
        text.push(if at == 0 { '?' } else { '&' });
        match pair.split_once('=') {
            Some((name, _)) if is_secret(name) => text.extend([name, "=", REDACTED]),
            _ => text.push_str(pair),
        }
    }
    text
}

/// Whether a query parameter of this name carries a secret: those that OpenTelemetry names
/// (`AWSAccessKeyId`, `Signature`, `sig`, `X-Goog-Signature`), and others of the same kind. An escape in a
/// name hides it from this list, so such a name counts as one.
#[cfg(feature = "tracing")]
fn is_secret(name: &str) -> bool {
    const WHOLE: [&str; 8] = ["sig", "code", "auth", "pwd", "passwd", "pass", "jwt", "sas"];
    const ENDS: [&str; 9] = [
        "token",
        "secret",
        "signature",
        "password",
        "credential",
        "credentials",
        "key",
        "keyid",
        "authorization",
    ];
    let name = name.to_ascii_lowercase();
    name.contains('%')
        || WHOLE.contains(&name.as_str())
        || ENDS.iter().any(|end| name.ends_with(end))
}

#[cfg(all(test, feature = "tracing"))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_secret_in_a_url_was_written_to_a_trace() {
        for (url, told) in [
            ("https://a.example/x", "https://a.example/x"),
            ("https://me:pw@a.example:8443/x", "https://REDACTED:REDACTED@a.example:8443/x"),
            ("https://me@a.example", "https://REDACTED@a.example"),
            ("https://me:p@w@a.example/@x", "https://REDACTED:REDACTED@a.example/@x"),
            ("https://a.example?q=1#token", "https://a.example?q=1"),
            (
                "https://a.example/?q=1&api_key=k&Signature=s&x=2",
                "https://a.example/?q=1&api_key=REDACTED&Signature=REDACTED&x=2",
            ),
            (
                "https://a.example/?X-Amz-Credential=c&X-Amz-Security-Token=t&AWSAccessKeyId=i",
                "https://a.example/?X-Amz-Credential=REDACTED&X-Amz-Security-Token=REDACTED&AWSAccessKeyId=REDACTED",
            ),
            ("https://a.example/?sig=a=b&signal=1", "https://a.example/?sig=REDACTED&signal=1"),
            ("https://a.example/?tok%65n=1", "https://a.example/?tok%65n=REDACTED"),
            ("/orders?token", "/orders?token"),
            ("//a.example/?key=1", "//a.example/?key=REDACTED"),
            ("", ""),
        ] {
            assert_eq!(redacted(url), told, "{url}");
        }
    }

    proptest! {
        #[test]
        fn no_secret_is_left_in_any_url(
            user in "[a-z]{0,4}(:[a-z@:]{0,4})?", path in "/[a-z/@:]{0,8}", other in "[a-z&=]{0,8}",
        ) {
            let url = format!("http://{user}SECRET@a.example{path}?{other}&token=SECRET&#SECRET");
            let told = redacted(&url);
            prop_assert!(!told.contains("SECRET"), "{}", told);
            prop_assert!(told.contains("a.example") && told.contains(&path));
        }

        #[test]
        fn any_text_is_redacted(text: String) {
            let _ = redacted(&text);
        }
    }
}
