//! The bodies of requests, never more of them in memory than may be sent.

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

use super::problem::Problem;
use super::reading;
use super::state::Api;

/// A body of JSON, not read yet.
#[derive(Debug)]
pub(super) struct JsonBytes(pub(super) Bytes);

impl FromRequest<Api> for JsonBytes {
    type Rejection = Problem;

    async fn from_request(request: Request, api: &Api) -> Result<Self, Problem> {
        let (head, body) = request.into_parts();
        wants_json(&head.headers)?;
        read(&head.headers, body, api.options().max_body).await.map(Self)
    }
}

/// A body of JSON, deserialized. No body at all is an empty object.
#[derive(Debug)]
pub(super) struct Json<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<Api> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, api: &Api) -> Result<Self, Problem> {
        let (head, body) = request.into_parts();
        let bytes = read(&head.headers, body, api.options().max_body).await?;
        if bytes.is_empty() {
            return reading::json(b"{}").map(Self);
        }
        wants_json(&head.headers)?;
        reading::json(&bytes).map(Self)
    }
}

/// A body as raw bytes.
#[derive(Debug)]
pub(super) struct RawBytes(pub(super) Bytes);

impl FromRequest<Api> for RawBytes {
    type Rejection = Problem;

    async fn from_request(request: Request, api: &Api) -> Result<Self, Problem> {
        let (head, body) = request.into_parts();
        read(&head.headers, body, api.options().max_payload).await.map(Self)
    }
}

/// The whole body. One that says at its beginning that it is too long is not read at all.
async fn read(headers: &HeaderMap, body: Body, limit: usize) -> Result<Bytes, Problem> {
    let told = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if told.is_some_and(|length: u64| usize::try_from(length).map_or(true, |len| len > limit)) {
        return Err(Problem::too_large("the body", limit));
    }
    match Limited::new(body, limit).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Problem::too_large("the body", limit)),
        Err(error) => {
            Err(Problem::new(StatusCode::BAD_REQUEST, format!("the body broke off: {error}")))
        }
    }
}

/// JSON must say that it is JSON, as other types can be sent from foreign pages without asking.
fn wants_json(headers: &HeaderMap) -> Result<(), Problem> {
    let told = headers.get(CONTENT_TYPE).map_or(&b""[..], |value| value.as_bytes());
    let end = told.iter().position(|byte| *byte == b';').unwrap_or(told.len());
    let essence = told[..end].trim_ascii().to_ascii_lowercase();
    if essence == b"application/json"
        || essence.starts_with(b"application/") && essence.ends_with(b"+json")
    {
        return Ok(());
    }
    let told = String::from_utf8_lossy(told);
    let detail = format!("the body must be application/json, not {told:?}");
    Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail).at("Content-Type"))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_form_passed_for_json() {
        let accepted = |told: &'static str| {
            let headers = [(CONTENT_TYPE, HeaderValue::from_static(told))].into_iter().collect();
            wants_json(&headers).is_ok()
        };
        assert!(accepted("application/json"));
        assert!(accepted("Application/JSON ; charset=utf-8"));
        assert!(accepted("application/merge-patch+json"));
        assert!(!accepted("application/x-www-form-urlencoded"));
        assert!(!accepted("text/plain; application/json"));
        assert!(!accepted("application/jsonp"));
        assert!(wants_json(&HeaderMap::new()).is_err());
    }

    #[tokio::test]
    async fn a_body_that_hid_its_length_filled_the_memory() {
        let limit = 1_000;
        for (length, fits) in [(limit, true), (limit + 1, false)] {
            let got = read(&HeaderMap::new(), Body::from(vec![0; length]), limit).await;
            assert_eq!(got.is_ok(), fits);
        }
    }

    #[tokio::test]
    async fn a_body_that_says_its_length_is_refused_unread() {
        let headers = [(CONTENT_LENGTH, HeaderValue::from_static("99999999999999999999999"))];
        let headers = headers.into_iter().collect();
        assert!(read(&headers, Body::from("x"), 10).await.is_ok(), "hyper refuses such a length");
        let headers = [(CONTENT_LENGTH, HeaderValue::from_static("11"))].into_iter().collect();
        assert!(read(&headers, Body::empty(), 10).await.is_err());
    }
}
