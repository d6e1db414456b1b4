//! The head of a response: the status of the call, or that it is under way.

use std::borrow::Cow;

use ::http::{HeaderMap, Response, StatusCode};
use stagger_core::classify::{Code, CodeSet, classify_grpc};
use stagger_core::hint::{HintReader, retry_info, status_details};
use stagger_core::{Hint, Instant, Outcome, Verdict};
use tonic::Status;

use super::calls::Retried;
use crate::StdTime;

/// The response of one attempt.
pub(super) struct Reply<B> {
    /// The attempt's number, from 1.
    pub(super) attempt: u32,
    /// The deadline of the call, body included.
    pub(super) until: Option<Instant>,
    pub(super) response: Response<B>,
}

impl<B> Reply<B> {
    /// Classifies it. Headers without a status commit the call (gRFC A6, "When Retries are Valid"):
    /// the caller may have seen them, and the status that follows is the caller's alone.
    pub(super) fn outcome(&self, retried: Retried) -> Outcome {
        let headers = self.response.headers();
        let Some(code) = self.code() else { return Outcome::OK };
        let mut outcome = classify_grpc(code, retried.codes);
        if outcome.verdict == Verdict::Ok {
            return outcome;
        }
        if outcome.verdict == Verdict::Throttled && retried.with_info && !has_retry_info(headers) {
            return classify_grpc(code, Some(CodeSet::EMPTY));
        }
        outcome.hint = hint(headers);
        if outcome.verdict == Verdict::Transient && self.limits_us(outcome.hint) {
            outcome.verdict = Verdict::Throttled;
        }
        outcome
    }

    /// The status that ends the call, if these headers have one: gRPC's own, or what stands for the
    /// status of an HTTP server that does not speak gRPC.
    pub(super) fn status(&self) -> Option<Status> {
        let http = self.response.status();
        Status::from_header_map(&readable(self.response.headers())).or_else(|| {
            let code = from_http(http)?;
            let said = format!("no grpc-status in the headers of an HTTP reply {http}");
            Some(Status::new(i32::from(code.number()).into(), said))
        })
    }

    fn code(&self) -> Option<Code> {
        match self.response.headers().get(Status::GRPC_STATUS) {
            Some(value) => {
                let number = value.to_str().ok().and_then(|text| text.parse().ok());
                Some(number.map_or(Code::Unknown, Code::from_wire))
            }
            None => from_http(self.response.status()),
        }
    }

    /// Whether an HTTP server in between says that it is too much, rather than that it is away.
    fn limits_us(&self, hint: Option<Hint>) -> bool {
        match self.response.status() {
            StatusCode::TOO_MANY_REQUESTS => true,
            StatusCode::SERVICE_UNAVAILABLE => hint.is_some(),
            _ => false,
        }
    }
}

/// The headers as tonic can read them: it panics at details that are not base64.
fn readable(headers: &HeaderMap) -> Cow<'_, HeaderMap> {
    let mut headers = Cow::Borrowed(headers);
    let details = headers.get(Status::GRPC_STATUS_DETAILS);
    if details.is_some_and(|details| status_details(details.as_bytes()).is_none()) {
        headers.to_mut().remove(Status::GRPC_STATUS_DETAILS);
    }
    headers
}

/// Whether the details of the status have a `google.rpc.RetryInfo`.
fn has_retry_info(headers: &HeaderMap) -> bool {
    let details = headers.get(Status::GRPC_STATUS_DETAILS);
    let details = details.and_then(|details| status_details(details.as_bytes()));
    details.is_some_and(|details| retry_info(&details).is_some())
}

/// The server's hint in these headers.
pub(super) fn hint(headers: &HeaderMap) -> Option<Hint> {
    let lines: Vec<_> =
        headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    HintReader::new().read(lines.iter().copied(), StdTime::try_wall().map(Into::into))
}

/// The status that stands for an HTTP status (grpc/doc/http-grpc-status-mapping.md).
fn from_http(status: StatusCode) -> Option<Code> {
    Some(match status.as_u16() {
        200 => return None,
        400 => Code::Internal,
        401 => Code::Unauthenticated,
        403 => Code::PermissionDenied,
        404 => Code::Unimplemented,
        429 | 502..=504 => Code::Unavailable,
        _ => Code::Unknown,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(status: u16, headers: &[(&'static str, &'static str)]) -> Reply<()> {
        let mut builder = Response::builder().status(status);
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        Reply { attempt: 1, until: None, response: builder.body(()).unwrap() }
    }

    fn verdict(status: u16, headers: &[(&'static str, &'static str)]) -> Verdict {
        reply(status, headers).outcome(Retried::DEFAULT).verdict
    }

    #[test]
    fn a_proxy_that_does_not_speak_grpc_is_understood() {
        assert_eq!(verdict(502, &[]), Verdict::Transient);
        assert_eq!(verdict(503, &[("retry-after", "1")]), Verdict::Throttled);
        assert_eq!(verdict(429, &[]), Verdict::Throttled);
        assert_eq!(verdict(404, &[]), Verdict::Permanent);
        assert_eq!(reply(404, &[]).status().map(|s| s.code()), Some(tonic::Code::Unimplemented));
        assert_eq!(verdict(418, &[]), Verdict::Permanent);
    }

    #[test]
    fn headers_without_a_status_commit_the_call() {
        let outcome = reply(200, &[("grpc-retry-pushback-ms", "5")]).outcome(Retried::DEFAULT);
        assert_eq!(outcome, Outcome::OK);
        assert!(reply(200, &[]).status().is_none());
    }

    #[test]
    fn a_status_that_is_no_number_is_unknown_and_not_ok() {
        assert_eq!(verdict(200, &[("grpc-status", "0")]), Verdict::Ok);
        assert_eq!(verdict(200, &[("grpc-status", "")]), Verdict::Permanent);
        assert_eq!(verdict(200, &[("grpc-status", "14")]), Verdict::Transient);
        assert_eq!(verdict(200, &[("grpc-status", "1")]), Verdict::Cancelled);
    }
}
