//! HTTP: what a reply means, and which requests may be sent twice.

use std::error::Error as StdError;

use ::http::{HeaderMap, Request, Response};
use stagger_core::classify::{
    HttpReply, HttpRules, TransportRules, classify_error, is_idempotent, read_should_retry,
};
use stagger_core::hint::HintReader;
use stagger_core::{Outcome, Verdict};

use super::{Idempotent, StaggerLayer};
use crate::run::UNKNOWN;
use crate::{Judge, Retrier, StdTime};

impl<Z, L> StaggerLayer<Z, L, HttpReplies, ByMethod> {
    /// Calls of HTTP services: replies are judged by status and headers, errors by the I/O error at
    /// their root, and requests by method and `Idempotency-Key`.
    pub fn http(retrier: Retrier<Z, L>) -> Self {
        StaggerLayer::new(retrier).judged_by(HttpReplies::default()).idempotent(ByMethod)
    }
}

/// Judges HTTP replies by status and headers, with the hints that they carry.
///
/// Errors are left to `J`. 421, 425 and 401 are permanent, because a service cannot be told to take a
/// fresh connection or fresh credentials.
///
/// ```
/// use http::Response;
/// use stagger::tower::HttpReplies;
/// use stagger::{Hint, Judge, Span, Verdict};
/// let busy = Response::builder().status(429).header("retry-after", "3").body(()).map_err(std::io::Error::other);
/// let outcome = HttpReplies::default().judge(&busy);
/// assert_eq!(outcome.verdict, Verdict::Throttled);
/// assert_eq!(outcome.hint, Some(Hint::AtLeast(Span::from_secs(3))));
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "it judges only for the layer that it is given to"]
pub struct HttpReplies<J = ByChain> {
    rules: HttpRules,
    errors: J,
}

impl Default for HttpReplies {
    fn default() -> Self {
        Self::new(HttpRules::default())
    }
}

impl HttpReplies {
    /// Judges statuses by `rules`.
    pub const fn new(rules: HttpRules) -> Self {
        Self { rules, errors: ByChain }
    }
}

impl<J> HttpReplies<J> {
    /// Has `errors` judge the results that are no reply.
    pub fn with_errors<K>(self, errors: K) -> HttpReplies<K> {
        HttpReplies { rules: self.rules, errors }
    }

    fn reply(&self, status: u16, headers: &HeaderMap) -> Outcome {
        let mut reply = HttpReply::new(status);
        reply.should_retry =
            headers.get("x-should-retry").and_then(|value| read_should_retry(value.as_bytes()));
        let outcome = self.rules.classify(&reply);
        if outcome.verdict == Verdict::Ok {
            return outcome;
        }
        let lines = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
        let lines: Vec<_> = lines.collect();
        let now = Some(StdTime::wall().into());
        reply.hint = HintReader::new().read(lines.iter().copied(), now);
        let mut outcome = self.rules.classify(&reply);
        outcome.remedy = None;
        outcome
    }
}

impl<B, E, J: Judge<Response<B>, E>> Judge<Response<B>, E> for HttpReplies<J> {
    fn judge(&mut self, result: &Result<Response<B>, E>) -> Outcome {
        match result {
            Ok(response) => self.reply(response.status().as_u16(), response.headers()),
            Err(_) => self.errors.judge(result),
        }
    }
}

/// Judges errors by the first I/O error in their chain that tells; an error without one is permanent.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByChain;

impl<T, E: StdError + 'static> Judge<T, E> for ByChain {
    fn judge(&mut self, result: &Result<T, E>) -> Outcome {
        let Err(error) = result else { return Outcome::OK };
        classify_error(error, &TransportRules::default()).unwrap_or(UNKNOWN)
    }
}

/// Requests of an idempotent method may be sent twice (RFC 9110 section 9.2.2), and those with an
/// `Idempotency-Key`.
///
/// ```
/// use stagger::tower::{ByMethod, Idempotent};
/// let order = http::Request::post("/orders");
/// assert!(!order.body(()).is_ok_and(|request| ByMethod.is_idempotent(&request)));
/// let order = http::Request::post("/orders").header("idempotency-key", "\"8e03978e\"");
/// assert!(order.body(()).is_ok_and(|request| ByMethod.is_idempotent(&request)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByMethod;

impl<B> Idempotent<Request<B>> for ByMethod {
    fn is_idempotent(&self, request: &Request<B>) -> bool {
        is_idempotent(request.method().as_str())
            || request.headers().contains_key("idempotency-key")
    }
}
