//! Messages: accepts them, and shows accepted ones.

use std::borrow::Cow;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderValue, StatusCode};

use super::auth::{OwnMessage, Tenant};
use super::body::{JsonBytes, RawBytes};
use super::openapi;
use super::problem::Problem;
use super::query::{EventTypeQuery, MessageQuery, ValidQuery};
use super::reading;
use super::state::Api;
use super::wire::{AcceptedBatch, AcceptedMessage, MessageView, NewBatch, NewMessage, PageOf};
use crate::Error;
use crate::model::{EventType, IdempotencyKey};
use crate::node::Submission;

/// Most messages of a batch: they become durable together, and all other callers wait for them.
const MAX_BATCH: usize = 1_000;
/// Longest `Content-Type`: the longest registered types with room for parameters.
const MAX_CONTENT_TYPE: usize = 255;

const JSON: &str = "application/json";
const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

/// Accepts a message: it is on disk when the reply comes, and is delivered at least once to every
/// endpoint that wants its type.
#[utoipa::path(
    post, path = "/v1/applications/{app}/messages", tag = "messages",
    params(openapi::ApplicationPath, openapi::IdempotencyKeyHeader),
    request_body = NewMessage,
    responses((status = 202, description = "It is on disk.", body = AcceptedMessage)),
)]
pub(super) async fn send_message(
    State(api): State<Api>,
    tenant: Tenant,
    headers: HeaderMap,
    JsonBytes(body): JsonBytes,
) -> Result<(StatusCode, axum::Json<AcceptedMessage>), Problem> {
    let mut message: NewMessage<'_> = reading::json(&body)?;
    let key = header_key(&headers)?;
    if key.is_some() && message.idempotency_key.is_some() {
        let value = message.idempotency_key.unwrap_or_default();
        let bound = "left out beside the header Idempotency-Key";
        return Err(Error::invalid("idempotency_key", value, bound).into());
    }
    message.idempotency_key = message.idempotency_key.or_else(|| key.map(Cow::Borrowed));
    let submission = submission(&api, &message)?;
    accept_one(&api, &tenant, submission).await
}

/// Accepts a message whose payload is the whole body, of any type.
#[utoipa::path(
    post, path = "/v1/applications/{app}/messages/raw", tag = "messages",
    params(openapi::ApplicationPath, openapi::IdempotencyKeyHeader, EventTypeQuery),
    request_body(content = openapi::AnyBytes, content_type = "application/octet-stream"),
    responses((status = 202, description = "It is on disk.", body = AcceptedMessage)),
)]
pub(super) async fn send_raw_message(
    State(api): State<Api>,
    tenant: Tenant,
    ValidQuery(query): ValidQuery<EventTypeQuery>,
    headers: HeaderMap,
    RawBytes(body): RawBytes,
) -> Result<(StatusCode, axum::Json<AcceptedMessage>), Problem> {
    let submission = Submission {
        event_type: event_type(&query.event_type)?,
        // A copy: the body may be a slice of a connection's buffer, and would keep all of it.
        payload: Bytes::copy_from_slice(&body),
        content_type: content_type(&headers)?,
        key: header_key(&headers)?.map(str::parse).transpose()?,
    };
    accept_one(&api, &tenant, submission).await
}

/// Accepts up to 1000 messages: all of them or none.
#[utoipa::path(
    post, path = "/v1/applications/{app}/messages/batch", tag = "messages",
    params(openapi::ApplicationPath),
    request_body = NewBatch,
    responses((status = 202, description = "All of them are on disk.", body = AcceptedBatch)),
)]
pub(super) async fn send_batch(
    State(api): State<Api>,
    tenant: Tenant,
    JsonBytes(body): JsonBytes,
) -> Result<(StatusCode, axum::Json<AcceptedBatch>), Problem> {
    let batch: NewBatch<'_> = reading::json(&body)?;
    let count = batch.messages.len();
    if !(1..=MAX_BATCH).contains(&count) {
        return Err(Error::invalid("messages", count, "1 to 1000 messages").into());
    }
    tenant.count(&api, count - 1)?;
    let one =
        |(at, message)| submission(&api, message).map_err(|problem: Problem| problem.within(at));
    let submissions: Result<_, Problem> = batch.messages.iter().enumerate().map(one).collect();
    let accepted = api.node().accept(tenant.id(), submissions?).await?;
    let messages = accepted.into_iter().map(AcceptedMessage::from).collect();
    Ok((StatusCode::ACCEPTED, axum::Json(AcceptedBatch { messages })))
}

/// The messages of an application, the newest first.
#[utoipa::path(
    get, path = "/v1/applications/{app}/messages", tag = "messages",
    params(openapi::ApplicationPath, MessageQuery),
    responses((status = 200, description = "A page of them.", body = PageOf<MessageView>)),
)]
pub(super) async fn list_messages(
    State(api): State<Api>,
    tenant: Tenant,
    ValidQuery(query): ValidQuery<MessageQuery>,
) -> Result<axum::Json<PageOf<MessageView>>, Problem> {
    let (filter, page) = query.check()?;
    Ok(axum::Json(api.node().store().messages(tenant.id(), filter, page).await?.into()))
}

/// One message, without its payload.
#[utoipa::path(
    get, path = "/v1/applications/{app}/messages/{msg}", tag = "messages",
    params(openapi::ApplicationPath, openapi::MessagePath),
    responses((status = 200, description = "The message.", body = MessageView)),
)]
pub(super) async fn get_message(OwnMessage(message): OwnMessage) -> axum::Json<MessageView> {
    axum::Json(MessageView::from(&message))
}

/// The payload of a message, byte for byte, with the type that it is delivered with.
#[utoipa::path(
    get, path = "/v1/applications/{app}/messages/{msg}/payload", tag = "messages",
    params(openapi::ApplicationPath, openapi::MessagePath),
    responses((status = 200, description = "Its bytes.", body = openapi::AnyBytes, content_type = "*/*")),
)]
pub(super) async fn get_payload(
    State(api): State<Api>,
    OwnMessage(message): OwnMessage,
) -> Result<Response, Problem> {
    let payload = api.node().store().payload(message.id).await?;
    let payload = payload.ok_or_else(|| Problem::not_found("payload"))?;
    let mut response = payload.into_response();
    let headers = response.headers_mut();
    let told = HeaderValue::try_from(message.content_type);
    headers
        .insert(CONTENT_TYPE, told.unwrap_or(HeaderValue::from_static("application/octet-stream")));
    // A page sent as a payload must not run beside our own.
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    Ok(response)
}

async fn accept_one(
    api: &Api,
    tenant: &Tenant,
    submission: Submission,
) -> Result<(StatusCode, axum::Json<AcceptedMessage>), Problem> {
    let accepted = api.node().accept(tenant.id(), vec![submission]).await?;
    let first = accepted.into_iter().next();
    let first = first.ok_or_else(|| Error::store("the store gave no answer"))?;
    Ok((StatusCode::ACCEPTED, axum::Json(first.into())))
}

fn submission(api: &Api, message: &NewMessage<'_>) -> Result<Submission, Problem> {
    let payload = message.payload.get().as_bytes();
    let limit = api.options().max_payload;
    if payload.len() > limit {
        return Err(Problem::too_large("the payload", limit).at("payload"));
    }
    Ok(Submission {
        event_type: event_type(&message.event_type)?,
        // A copy: one small message of a large batch would keep all of its body.
        payload: Bytes::copy_from_slice(payload),
        content_type: JSON.to_owned(),
        key: message.idempotency_key.as_deref().map(str::parse::<IdempotencyKey>).transpose()?,
    })
}

fn event_type(text: &str) -> Result<EventType, Error> {
    let event_type: EventType = text.parse()?;
    if event_type.is_operational() {
        let bound = "none of the dispatcher's own, which begin with stagger.";
        return Err(Error::invalid("event_type", text, bound));
    }
    Ok(event_type)
}

fn header_key(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let bound = "one value of 1 to 255 visible ASCII characters";
    match (value.to_str(), values.next()) {
        (Ok(key), None) if !key.is_empty() && key.len() <= 255 => Ok(Some(key)),
        _ => {
            let shown = String::from_utf8_lossy(value.as_bytes());
            Err(Problem::refused(IDEMPOTENCY_KEY.into(), &shown, bound))
        }
    }
}

fn content_type(headers: &HeaderMap) -> Result<String, Problem> {
    let Some(value) = headers.get(CONTENT_TYPE) else {
        return Ok("application/octet-stream".to_owned());
    };
    match value.to_str() {
        Ok(text) if text.len() <= MAX_CONTENT_TYPE => Ok(text.to_owned()),
        _ => {
            let shown = String::from_utf8_lossy(value.as_bytes());
            Err(Problem::refused("Content-Type".into(), &shown, "at most 255 ASCII characters"))
        }
    }
}
