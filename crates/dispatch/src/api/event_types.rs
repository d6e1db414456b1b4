//! The catalogue of event types: making, listing, replacing and deleting them.

use axum::extract::{RawPathParams, State};
use http::StatusCode;
use stagger_scheduler::model::EventType;

use super::auth::ByOperator;
use super::body::Json;
use super::openapi;
use super::problem::Problem;
use super::query::{EventTypeListQuery, ValidQuery};
use super::state::Api;
use super::wire::{EventTypeChange, EventTypeList, EventTypeView, NewEventType};

/// Adds an event type to the catalogue.
#[utoipa::path(
    post, path = "/v1/event-types", tag = "event types", security(("admin" = [])),
    request_body = NewEventType,
    responses(
        (status = 201, description = "It was made.", body = EventTypeView),
        (status = 409, description = "It exists, or there are too many.", body = openapi::Problem,
            content_type = "application/problem+json"),
    ),
)]
pub(super) async fn create_event_type(
    State(api): State<Api>,
    _: ByOperator,
    Json(new): Json<NewEventType>,
) -> Result<(StatusCode, axum::Json<EventTypeView>), Problem> {
    let made = api.node().put_event_type(new.into_settings()?, true, api.now()).await?;
    Ok((StatusCode::CREATED, axum::Json(EventTypeView::from(&made.0))))
}

/// The event types of the catalogue, by name.
#[utoipa::path(
    get, path = "/v1/event-types", tag = "event types", security(("admin" = [])),
    params(EventTypeListQuery),
    responses((status = 200, description = "A page of them.", body = EventTypeList)),
)]
pub(super) async fn list_event_types(
    State(api): State<Api>,
    _: ByOperator,
    ValidQuery(query): ValidQuery<EventTypeListQuery>,
) -> Result<axum::Json<EventTypeList>, Problem> {
    let (after, limit) = query.check()?;
    let all = api.node().event_types();
    let later = all.iter().filter(|it| after.as_ref().is_none_or(|after| it.name > *after));
    let mut items: Vec<_> = later.take(limit + 1).map(|it| EventTypeView::from(&**it)).collect();
    let is_last = items.len() <= limit;
    items.truncate(limit);
    let next = items.last().filter(|_| !is_last).map(|last| last.name().to_string());
    Ok(axum::Json(EventTypeList { items, next }))
}

/// One event type.
#[utoipa::path(
    get, path = "/v1/event-types/{name}", tag = "event types", security(("admin" = [])),
    params(openapi::EventTypePath),
    responses((status = 200, description = "The event type.", body = EventTypeView)),
)]
pub(super) async fn get_event_type(
    State(api): State<Api>,
    _: ByOperator,
    params: RawPathParams,
) -> Result<axum::Json<EventTypeView>, Problem> {
    let found = api.node().event_type(&name(&params)?);
    let found = found.ok_or_else(|| Problem::not_found("event type"))?;
    Ok(axum::Json(EventTypeView::from(&*found)))
}

/// Replaces an event type, or makes it. What the body leaves out gets its default. The next message is validated against
/// the new schema, at every node; messages that were accepted before stay accepted.
#[utoipa::path(
    put, path = "/v1/event-types/{name}", tag = "event types", security(("admin" = [])),
    params(openapi::EventTypePath),
    request_body = EventTypeChange,
    responses(
        (status = 200, description = "It was replaced.", body = EventTypeView),
        (status = 201, description = "It was made.", body = EventTypeView),
        (status = 409, description = "There are too many.", body = openapi::Problem,
            content_type = "application/problem+json"),
    ),
)]
pub(super) async fn replace_event_type(
    State(api): State<Api>,
    _: ByOperator,
    params: RawPathParams,
    Json(change): Json<EventTypeChange>,
) -> Result<(StatusCode, axum::Json<EventTypeView>), Problem> {
    let settings = change.into_settings(name(&params)?);
    let (event_type, is_new) = api.node().put_event_type(settings, false, api.now()).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, axum::Json(EventTypeView::from(&event_type))))
}

/// Deletes an event type from the catalogue. Its messages stay, and so do the endpoints that subscribe to it.
#[utoipa::path(
    delete, path = "/v1/event-types/{name}", tag = "event types", security(("admin" = [])),
    params(openapi::EventTypePath),
    responses((status = 204, description = "It is gone.")),
)]
pub(super) async fn delete_event_type(
    State(api): State<Api>,
    _: ByOperator,
    params: RawPathParams,
) -> Result<StatusCode, Problem> {
    api.node().delete_event_type(name(&params)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The name in the path. A text that can be no name names nothing.
fn name(params: &RawPathParams) -> Result<EventType, Problem> {
    let text = params.iter().find(|(param, _)| *param == "name").map_or("", |(_, text)| text);
    text.parse().map_err(|_| Problem::not_found("event type"))
}
