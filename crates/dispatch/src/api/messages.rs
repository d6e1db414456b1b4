//! Messages: accepts them, and shows accepted ones.

use std::borrow::Cow;
use std::collections::HashMap;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderValue, StatusCode};
use stagger_scheduler::model::{
    AttributeValue, ChannelName, EventAttributes, EventType, IdempotencyKey, MessageId,
};

use super::auth::{OwnMessage, Tenant};
use super::body::{JsonBytes, RawBytes};
use super::cloud_events::MessageBody;
use super::problem::Problem;
use super::query::{EventTypeQuery, MessageQuery, ValidQuery};
use super::state::Api;
use super::trace::{TraceHeaders, trace_of, trace_of_headers};
use super::wire::{AcceptedBatch, AcceptedMessage, MessageView, NewBatch, NewMessage, PageOf};
use super::{body, cloud_events, openapi};
use crate::Error;
use crate::node::Submission;

/// Most messages of a batch: enough that its round trip costs each of them nothing.
const MAX_BATCH: usize = 1_000;
/// Longest `Content-Type`: the longest registered types with room for parameters.
const MAX_CONTENT_TYPE: usize = 255;

const JSON: &str = "application/json";
const IDEMPOTENCY_KEY: &str = "Idempotency-Key";
/// The member of a message with the same.
const KEY: &str = "idempotency_key";

/// Accepts a message: it is on disk when the reply comes, and is delivered at least once to every
/// endpoint that wants its type.
///
/// A CloudEvents event (1.0.2) is accepted too, in binary mode (headers that begin with `ce-`) and in structured mode
/// (`application/cloudevents+json`). Its source and id are its idempotency key.
#[utoipa::path(
    post, path = "/v1/applications/{app}/messages", tag = "messages",
    params(openapi::ApplicationPath, openapi::IdempotencyKeyHeader, TraceHeaders),
    request_body = NewMessage,
    responses(
        (status = 202, description = "It is on disk.", body = AcceptedMessage),
        (status = 422, description = "Its idempotency key is that of a message with other contents; or the catalogue of \
            event types refuses it, with `pointer` and `keyword` where its payload breaks a schema.",
            body = openapi::Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn send_message(
    State(api): State<Api>,
    tenant: Tenant,
    headers: HeaderMap,
    body: MessageBody,
) -> Result<(StatusCode, axum::Json<AcceptedMessage>), Problem> {
    let key = header_key(&headers)?;
    let body = match body {
        MessageBody::Own(body) => body,
        MessageBody::Event(_) if key.is_some() => {
            let bound = "left out: id and source of an event are its key";
            return Err(Problem::refused(IDEMPOTENCY_KEY.into(), key.unwrap_or_default(), bound));
        }
        MessageBody::Event(mut event) => {
            event.trace = event.trace.or_else(|| trace_of_headers(&headers));
            return accept_one(&api, &tenant, *event).await;
        }
    };
    let mut message: NewMessage<'_> = body::json(&body)?;
    if key.is_some() && message.idempotency_key.is_some() {
        let value = message.idempotency_key.unwrap_or_default();
        let bound = "left out beside the header Idempotency-Key";
        return Err(Error::invalid("idempotency_key", value, bound).into());
    }
    message.idempotency_key = message.idempotency_key.or_else(|| key.map(Cow::Borrowed));
    let mut submission = submission(&api, &message)?;
    submission.trace = submission.trace.or_else(|| trace_of_headers(&headers));
    accept_one(&api, &tenant, submission).await
}

/// Accepts a message whose payload is the whole body, of any type.
#[utoipa::path(
    post, path = "/v1/applications/{app}/messages/raw", tag = "messages",
    params(openapi::ApplicationPath, openapi::IdempotencyKeyHeader, TraceHeaders, EventTypeQuery),
    request_body(content = openapi::AnyBytes, content_type = "application/octet-stream"),
    responses(
        (status = 202, description = "It is on disk.", body = AcceptedMessage),
        (status = 422, description = "Its idempotency key is that of a message with other contents; or the catalogue of \
            event types refuses it, with `pointer` and `keyword` where its payload breaks a schema.",
            body = openapi::Problem, content_type = "application/problem+json"),
    ),
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
        channels: query.channels()?,
        trace: trace_of_headers(&headers),
        attributes: EventAttributes::default(),
    };
    accept_one(&api, &tenant, submission).await
}

/// Accepts up to 1000 messages. Each message is stored with all its deliveries or not at all.
///
/// Messages with 512 rows in all, one for each message and each delivery, are stored together: all of
/// them or none. A larger batch is stored in steps of that size, so that others do not wait for all of it.
/// A refusal then tells how many messages are accepted; the batch can be sent again if its messages have
/// idempotency keys.
///
/// A batch of CloudEvents events (`application/cloudevents-batch+json`) is accepted too.
#[utoipa::path(
    post, path = "/v1/applications/{app}/messages/batch", tag = "messages",
    params(openapi::ApplicationPath, TraceHeaders),
    request_body = NewBatch,
    responses(
        (status = 202, description = "All of them are on disk.", body = AcceptedBatch),
        (status = 422, description = "The idempotency key of one is that of a message with other contents. If that \
            was sent earlier, the others of the batch are on disk. Or the catalogue of event types refuses one: nothing \
            is accepted then.",
            body = openapi::Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn send_batch(
    State(api): State<Api>,
    tenant: Tenant,
    headers: HeaderMap,
    JsonBytes(body): JsonBytes,
) -> Result<(StatusCode, axum::Json<AcceptedBatch>), Problem> {
    let events = cloud_events::batch(&headers, &body, api.options().max_payload).transpose()?;
    let mut submissions = match events {
        Some(events) => {
            count_batch(&api, &tenant, events.len())?;
            events
        }
        None => {
            let batch: NewBatch<'_> = body::json(&body)?;
            count_batch(&api, &tenant, batch.messages.len())?;
            let one = |(at, message)| {
                submission(&api, message).map_err(|problem: Problem| problem.within(at))
            };
            batch.messages.iter().enumerate().map(one).collect::<Result<Vec<_>, Problem>>()?
        }
    };
    let of_all = trace_of_headers(&headers);
    for given in submissions.iter_mut().filter(|given| given.trace.is_none()) {
        given.trace.clone_from(&of_all);
    }
    refuse_other_twins(&submissions)?;
    count_fan_out(&api, &tenant, &submissions)?;
    let keyed: Vec<_> =
        submissions.iter().map(|given| given.key.is_some().then(|| given.clone())).collect();
    let accepted = api.node().accept(tenant.id(), submissions).await.map_err(of_batch)?;
    for (at, (accepted, given)) in accepted.iter().zip(&keyed).enumerate() {
        if let Some(given) = given.as_ref().filter(|_| accepted.repeated) {
            let refused = refuse_another(&api, accepted.id, given).await;
            refused.map_err(|problem| problem.at(KEY).within(at).with_note(OTHERS_ACCEPTED))?;
        }
    }
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

/// Deletes a message with its payload, deliveries and attempts. Open deliveries are cancelled first; an attempt that is
/// in flight may still arrive. Its idempotency key is free then.
#[utoipa::path(
    delete, path = "/v1/applications/{app}/messages/{msg}", tag = "messages",
    params(openapi::ApplicationPath, openapi::MessagePath),
    responses((status = 204, description = "It is gone.")),
)]
pub(super) async fn delete_message(
    State(api): State<Api>,
    OwnMessage(message): OwnMessage,
) -> Result<StatusCode, Problem> {
    api.node().delete_message(message.id).await?;
    Ok(StatusCode::NO_CONTENT)
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

/// Deletes the payload of a message, and the replies of its receivers, which may repeat it. The message, its deliveries
/// and its attempts stay, without these. Open deliveries are cancelled first; an attempt that is in flight may still
/// arrive. Its idempotency key stays taken. Repeated, it answers the same.
#[utoipa::path(
    delete, path = "/v1/applications/{app}/messages/{msg}/payload", tag = "messages",
    params(openapi::ApplicationPath, openapi::MessagePath),
    responses((status = 204, description = "It is gone.")),
)]
pub(super) async fn delete_payload(
    State(api): State<Api>,
    OwnMessage(message): OwnMessage,
) -> Result<StatusCode, Problem> {
    api.node().delete_payload(message.id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Checks the number of messages in a batch, and takes a token for each beyond the first.
fn count_batch(api: &Api, tenant: &Tenant, count: usize) -> Result<(), Problem> {
    if !(1..=MAX_BATCH).contains(&count) {
        return Err(Error::invalid("messages", count, "1 to 1000 messages").into());
    }
    tenant.count(api, count - 1)
}

async fn accept_one(
    api: &Api,
    tenant: &Tenant,
    submission: Submission,
) -> Result<(StatusCode, axum::Json<AcceptedMessage>), Problem> {
    let (given, submissions) = (submission.clone(), vec![submission]);
    count_fan_out(api, tenant, &submissions)?;
    let accepted = api.node().accept(tenant.id(), submissions).await?;
    let first = accepted.into_iter().next();
    let first = first.ok_or_else(|| Error::store("the store gave no answer"))?;
    if first.repeated {
        refuse_another(api, first.id, &given).await?;
    }
    Ok((StatusCode::ACCEPTED, axum::Json(first.into())))
}

/// The refusal of a batch, with the message that is refused where it is one.
fn of_batch(error: Error) -> Problem {
    let at = error.as_rejected().map(|rejected| rejected.message);
    let problem = Problem::from(error);
    match at {
        Some(at) => problem.within(at),
        None => problem,
    }
}

/// Takes a token for each delivery beyond the first of a message: the work of a message is that of its
/// deliveries.
fn count_fan_out(api: &Api, tenant: &Tenant, messages: &[Submission]) -> Result<(), Problem> {
    if api.options().rate.is_none() {
        return Ok(());
    }
    let sizes = api.node().fan_out_sizes(tenant.id(), messages);
    tenant.count(api, sizes.into_iter().map(|size| size.saturating_sub(1)).sum())
}

/// The state of a batch with a message that was refused after the others were stored.
const OTHERS_ACCEPTED: &str = "all messages of the batch without this fault are accepted, and get the same ids if they are sent again under \
     their keys";

/// Refuses two messages of one batch that have one idempotency key and other contents, before anything is
/// stored.
fn refuse_other_twins(submissions: &[Submission]) -> Result<(), Problem> {
    let mut seen: HashMap<&str, (usize, &Submission)> = HashMap::new();
    for (at, given) in submissions.iter().enumerate() {
        let Some(key) = &given.key else { continue };
        let (first_at, first) = *seen.entry(key.as_str()).or_insert((at, given));
        let is_same = first.event_type == given.event_type
            && first.payload == given.payload
            && first.channels == given.channels
            && first.attributes == given.attributes;
        if !is_same {
            let detail = format!(
                "the idempotency key is that of messages[{first_at}], which has other contents; nothing is accepted"
            );
            return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail).at(KEY).within(at));
        }
    }
    Ok(())
}

/// Refuses a message whose idempotency key was that of a message with other contents.
async fn refuse_another(api: &Api, id: MessageId, given: &Submission) -> Result<(), Problem> {
    match api.node().refuse_another(id, given).await {
        Err(error) if error.is_conflict() => {
            Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string()))
        }
        other => Ok(other?),
    }
}

fn submission(api: &Api, message: &NewMessage<'_>) -> Result<Submission, Problem> {
    let payload = message.payload.get().as_bytes();
    let limit = api.options().max_payload;
    if payload.len() > limit {
        return Err(Problem::too_large("the payload", limit).at("payload"));
    }
    let attributes = message.attributes.iter().flatten();
    let attributes =
        attributes.map(|(name, text)| (name.clone(), AttributeValue::Text(text.clone())));
    Ok(Submission {
        event_type: event_type(&message.event_type)?,
        // A copy: one small message of a large batch would keep all of its body.
        payload: Bytes::copy_from_slice(payload),
        content_type: JSON.to_owned(),
        key: message.idempotency_key.as_deref().map(str::parse::<IdempotencyKey>).transpose()?,
        channels: ChannelName::set(message.channels.clone().unwrap_or_default())?,
        trace: trace_of(message.traceparent.as_deref(), message.tracestate.as_deref()),
        attributes: EventAttributes::new(attributes)?,
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
