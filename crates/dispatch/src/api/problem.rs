//! The body of a refused request: a problem document (RFC 9457).

use std::borrow::Cow;
use std::fmt;

use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use serde::Serialize;
use stagger::{ConfigError, Span};
use utoipa::ToSchema;

use crate::Error;

/// The `Retry-After` of a 503: long enough for a commit that hangs, short enough that no caller's
/// queue grows much.
const UNAVAILABLE: Span = Span::from_secs(1);

/// The `Retry-After` of an application whose share is used up: its endpoints have to take something first.
const OVER_SHARE: Span = Span::from_secs(10);

/// Characters of a refused value that are shown again: enough to recognise it.
const SHOWN: usize = 200;

/// A refusal.
#[derive(Debug)]
pub(super) struct Problem(Box<Details>);

#[derive(Debug)]
struct Details {
    status: StatusCode,
    retry_after: Option<Span>,
    document: Document,
}

/// An error as RFC 9457 writes it.
#[derive(Debug, Default, Serialize, ToSchema)]
#[schema(as = Problem, example = json!({
    "type": "about:blank",
    "title": "Bad Request",
    "status": 400,
    "detail": "timeout = 5m: must be from 1s to 120s",
    "field": "timeout",
    "value": "5m",
    "bound": "from 1s to 120s",
}))]
pub(super) struct Document {
    /// Always `about:blank`: the status tells the kind of problem.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The status in words.
    title: &'static str,
    /// The status.
    status: u16,
    /// A description of the problem, for people.
    detail: String,
    /// The member, parameter or header that is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<Cow<'static, str>>,
    /// The rejected value; long ones are cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    /// The values that are allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<String>,
    /// The JSON pointer of the first place of the payload that breaks the schema of its event type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pointer: Option<String>,
    /// The keyword of the schema that the place breaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    keyword: Option<String>,
    /// The line of the body, from 1, where reading it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    /// The column, in bytes from 1, where reading it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
}

impl Problem {
    /// A refusal with this status and these words.
    /// The error in words.
    pub(super) fn into_detail(self) -> String {
        self.0.document.detail
    }

    pub(super) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        let title = status.canonical_reason().unwrap_or("Error");
        let detail = detail.into();
        let document = Document {
            kind: "about:blank",
            title,
            status: status.as_u16(),
            detail,
            ..Document::default()
        };
        Self(Box::new(Details { status, retry_after: None, document }))
    }

    /// The request has no key, or an unknown one.
    pub(super) fn unauthorized(detail: &'static str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, detail)
    }

    /// The key is known, and may not do that.
    pub(super) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, detail)
    }

    /// The route is not in the table of permissions, so that no caller may use it.
    pub(super) fn no_rule() -> Self {
        Self::forbidden("no role may do this")
    }

    /// The resource does not exist, or belongs to another application.
    pub(super) fn not_found(what: &'static str) -> Self {
        Error::not_found(what).into()
    }

    /// More bytes than may be sent.
    pub(super) fn too_large(what: &'static str, limit: usize) -> Self {
        let detail = format!("{what} must be at most {limit} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, detail).bounded(format!("at most {limit} bytes"))
    }

    /// More requests than may be made; it can be made again after `delay`.
    pub(super) fn too_many(delay: Span) -> Self {
        let detail = format!("this application has made too many requests; the next in {delay}");
        Self::new(StatusCode::TOO_MANY_REQUESTS, detail).after(delay)
    }

    /// A value that is out of its bounds.
    pub(super) fn invalid(error: &ConfigError) -> Self {
        // A setting of an endpoint stands at the top of the body that has it.
        let field = error.field();
        let field = field.strip_prefix("endpoint.").unwrap_or(field);
        Self::refused(field.into(), error.value(), error.bound())
    }

    /// The same for a place in the body.
    pub(super) fn refused(field: Cow<'static, str>, value: &str, bound: &str) -> Self {
        let value = cut(value);
        let detail = format!("{field} = {value}: must be {bound}");
        let mut problem = Self::new(StatusCode::BAD_REQUEST, detail).bounded(bound).at(field);
        problem.0.document.value = Some(value);
        problem
    }

    /// The same refusal of this member, parameter or header.
    pub(super) fn at(mut self, field: impl Into<Cow<'static, str>>) -> Self {
        self.0.document.field = Some(field.into());
        self
    }

    /// The same refusal with a place in the body.
    pub(super) fn placed(mut self, line: usize, column: usize) -> Self {
        self.0.document.line = Some(line);
        self.0.document.column = Some(column);
        self
    }

    /// The same refusal of a member of the message `at` of a batch.
    pub(super) fn within(mut self, at: usize) -> Self {
        let field = self.0.document.field.take();
        let place = format!("messages[{at}].{}", field.as_deref().unwrap_or_default());
        self.0.document.detail = format!("messages[{at}]: {}", self.0.document.detail);
        self.at(place)
    }

    /// The same refusal with more to know.
    pub(super) fn with_note(mut self, note: &str) -> Self {
        self.0.document.detail = format!("{}; {note}", self.0.document.detail);
        self
    }

    fn bounded(mut self, bound: impl Into<String>) -> Self {
        self.0.document.bound = Some(bound.into());
        self
    }

    fn after(mut self, delay: Span) -> Self {
        self.0.retry_after = Some(delay);
        self
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        if let Some(invalid) = error.as_invalid() {
            return Self::invalid(invalid);
        }
        let detail = error.to_string();
        if let Some(rejected) = error.as_rejected() {
            let mut problem = Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail);
            problem.0.document.pointer.clone_from(&rejected.pointer);
            problem.0.document.keyword.clone_from(&rejected.keyword);
            return problem.at(rejected.field);
        }
        if error.is_not_found() {
            return Self::new(StatusCode::NOT_FOUND, detail);
        }
        if error.is_conflict() {
            return Self::new(StatusCode::CONFLICT, detail);
        }
        if error.is_over_share() {
            return Self::new(StatusCode::TOO_MANY_REQUESTS, detail).after(OVER_SHARE);
        }
        tracing::warn!(error = %detail, "request refused with 503");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, detail).after(UNAVAILABLE)
    }
}

impl From<ConfigError> for Problem {
    fn from(error: ConfigError) -> Self {
        Self::invalid(&error)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.document.detail)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self.0.document).unwrap_or_default();
        let mut response = (self.0.status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(delay) = self.0.retry_after {
            // At least a second: zero would ask for an immediate retry.
            headers.insert(RETRY_AFTER, delay.as_secs_ceil().max(1).into());
        }
        if self.0.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"stagger\""));
        }
        response
    }
}

fn cut(value: &str) -> String {
    match value.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &value[..end]),
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use serde_json::{Value, json};

    use super::*;

    fn read(problem: Problem) -> (http::response::Parts, Value) {
        let (head, body) = problem.into_response().into_parts();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let body = runtime.block_on(body.collect()).unwrap().to_bytes();
        (head, serde_json::from_slice(&body).unwrap())
    }

    #[test]
    fn a_value_out_of_bounds_is_told_with_its_field_and_bound() {
        let error = Error::invalid("endpoint.timeout", "5m", "from 1s to 120s");
        let (head, body) = read(error.into());
        assert_eq!(head.status, StatusCode::BAD_REQUEST);
        assert_eq!(head.headers[CONTENT_TYPE], "application/problem+json");
        assert_eq!(
            body,
            json!({
                "type": "about:blank",
                "title": "Bad Request",
                "status": 400,
                "detail": "timeout = 5m: must be from 1s to 120s",
                "field": "timeout",
                "value": "5m",
                "bound": "from 1s to 120s",
            })
        );
    }

    #[test]
    fn a_delay_below_a_second_asked_for_the_same_at_once() {
        for (delay, told) in [(0, "1"), (1, "1"), (1_000, "1"), (1_001, "2"), (59_999, "60")] {
            let (head, _) = read(Problem::too_many(Span::from_millis(delay)));
            assert_eq!(head.status, StatusCode::TOO_MANY_REQUESTS);
            assert_eq!(head.headers[RETRY_AFTER], told);
        }
    }

    #[test]
    fn each_kind_of_error_has_its_status() {
        let status = |error: Error| read(error.into()).0.status.as_u16();
        assert_eq!(status(Error::not_found("endpoint")), 404);
        assert_eq!(status(Error::conflict("it is open")), 409);
        assert_eq!(status(Error::busy("no room")), 503);
        let (head, _) = read(Error::store("database is locked").into());
        assert_eq!(
            (head.status.as_u16(), &head.headers[RETRY_AFTER]),
            (503, &HeaderValue::from(1))
        );
        let (head, _) = read(Problem::unauthorized("no key"));
        assert_eq!(head.headers[WWW_AUTHENTICATE], "Bearer realm=\"stagger\"");
    }

    #[test]
    fn a_megabyte_of_nonsense_came_back_in_full() {
        let (_, body) = read(Error::invalid("url", "\u{e9}".repeat(1 << 20), "short").into());
        assert!(body.to_string().len() < 2_000);
    }
}
