//! Replies of the proxy's own: a refusal in the form that its caller reads, with the reason and the time to come back.

use std::fmt::Write;

use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use stagger::{Entropy, OsEntropy, Span};

use super::in_flight::ReplyBody;

pub(super) const STAGGER_STOP: HeaderName = HeaderName::from_static("stagger-stop");
const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
const GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const PUSHBACK: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");

const NANOS_PER_SEC: u64 = 1_000_000_000;
const NANOS_PER_MILLI: u64 = 1_000_000;

/// The most that spread adds to the time after which a caller may come back.
const MAX_SPREAD: Span = Span::from_secs(30);

/// A reply in place of an upstream's.
#[derive(Clone, Debug)]
pub(crate) struct OwnReply {
    pub(crate) status: StatusCode,
    /// The stop reason, or the name of what was wrong with the request.
    pub(crate) stop: &'static str,
    pub(crate) detail: String,
    /// The time after which the caller may come back.
    pub(crate) retry_after: Option<Span>,
    /// The attempts that were made.
    pub(crate) attempts: u32,
    /// The destination that was to be called, for operators alone.
    pub(crate) destination: Option<String>,
}

impl OwnReply {
    /// A refusal of a request that no repetition heals.
    pub(crate) fn final_(
        status: StatusCode,
        stop: &'static str,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            status,
            stop,
            detail: detail.into(),
            retry_after: None,
            attempts: 0,
            destination: None,
        }
    }

    /// A refusal for now.
    pub(crate) fn for_now(stop: &'static str, detail: impl Into<String>, after: Span) -> Self {
        let retry_after = Some(after);
        Self {
            status: StatusCode::SERVICE_UNAVAILABLE,
            stop,
            detail: detail.into(),
            retry_after,
            attempts: 0,
            destination: None,
        }
    }

    /// The reply, in the form of gRPC for a caller that speaks it. Callers are told different times, so that they
    /// do not come back together.
    pub(crate) fn into_response(self, grpc: bool) -> Response<ReplyBody> {
        let after = self.retry_after.map(spread);
        let mut reply = if grpc { self.grpc(after) } else { self.problem(after) };
        reply.headers_mut().insert(STAGGER_STOP, HeaderValue::from_static(self.stop));
        reply
    }

    /// Problem details (RFC 9457).
    fn problem(&self, after: Option<Span>) -> Response<ReplyBody> {
        let title = self.status.canonical_reason().unwrap_or("refused");
        let body = serde_json::json!({
            "type": "about:blank",
            "title": title,
            "status": self.status.as_u16(),
            "detail": self.detail,
            "stop": self.stop,
            "attempts": self.attempts,
        });
        let mut reply = Response::new(ReplyBody::text(format!("{body}\n")));
        *reply.status_mut() = self.status;
        let headers = reply.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(after) = after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds(after)));
        }
        reply
    }

    /// A status in the headers alone ("Trailers-Only").
    fn grpc(&self, after: Option<Span>) -> Response<ReplyBody> {
        let mut reply = Response::new(ReplyBody::default());
        let headers = reply.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        headers.insert(GRPC_STATUS, HeaderValue::from_static(grpc_code(self.status)));
        if let Ok(message) = HeaderValue::try_from(percent_encoded(&self.detail)) {
            headers.insert(GRPC_MESSAGE, message);
        }
        // Without a time no repetition helps, which gRPC says by a negative one.
        let pushback = after.map_or(HeaderValue::from_static("-1"), |after| {
            HeaderValue::from(after.as_nanos().div_ceil(NANOS_PER_MILLI))
        });
        headers.insert(PUSHBACK, pushback);
        reply
    }
}

/// Up to half as long again, at random.
fn spread(after: Span) -> Span {
    let half = Span::from_nanos(after.as_nanos() / 2);
    after + OsEntropy.draw(Span::ZERO, half.min(MAX_SPREAD))
}

/// Whole seconds, rounded up: a caller must not come before the time.
fn seconds(after: Span) -> u64 {
    after.as_nanos().div_ceil(NANOS_PER_SEC).max(1)
}

/// The code that gRPC has for the cause of a status.
const fn grpc_code(status: StatusCode) -> &'static str {
    match status.as_u16() {
        400 => "13",
        403 => "7",
        404 | 421 => "12",
        504 => "4",
        _ => "14",
    }
}

/// As `grpc-message` is written: visible ASCII but for the percent sign, all else by its bytes.
fn percent_encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut written, byte| {
        match byte {
            b' '..=b'~' if byte != b'%' => written.push(char::from(byte)),
            // Writing to a string does not fail.
            _ => _ = write!(written, "%{byte:02X}"),
        }
        written
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_that_are_told_one_time_came_back_together() {
        let reply = OwnReply::for_now("breaker_open", "the breaker is open", Span::from_secs(10));
        let told: Vec<u64> = (0..50)
            .map(|_| {
                let reply = reply.clone().into_response(false);
                reply.headers()["retry-after"].to_str().unwrap().parse().unwrap()
            })
            .collect();
        assert!(told.iter().all(|seconds| (10..=15).contains(seconds)), "{told:?}");
        assert!(told.iter().any(|seconds| *seconds != told[0]), "{told:?}");
    }

    #[test]
    fn a_grpc_caller_was_answered_with_a_page() {
        let reply = OwnReply::for_now("rate_limited", "100 % busy", Span::from_millis(10));
        let reply = reply.into_response(true);
        let headers = reply.headers();
        assert_eq!(
            (reply.status(), &headers["grpc-status"]),
            (StatusCode::OK, &HeaderValue::from(14))
        );
        assert_eq!(headers["grpc-message"], "100 %25 busy");
        let pushback: u64 = headers["grpc-retry-pushback-ms"].to_str().unwrap().parse().unwrap();
        assert!((10..=15).contains(&pushback), "{pushback}");
        let never = OwnReply::final_(StatusCode::NOT_FOUND, "no_route", "none").into_response(true);
        assert_eq!(never.headers()["grpc-retry-pushback-ms"], "-1");
        assert_eq!(never.headers()["stagger-stop"], "no_route");
    }
}
