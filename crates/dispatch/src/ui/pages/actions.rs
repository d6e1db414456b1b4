//! The actions of the buttons. Each redirects to the page that shows its result.

use axum::Form;
use axum::extract::Path;
use axum::response::Redirect;
use serde::Deserialize;
use stagger::Instant;
use stagger_scheduler::model::{ApplicationId, DeliveryState, EndpointId, MessageId};
use stagger_store::{DeliveryFilter, MessageFilter, ReplayRequest};

use super::visit;
use super::visit::{PageError, Query, with_query};
use crate::ui::page_state::Visitor;
use crate::ui::view::Note;

type Done = Result<Redirect, PageError>;

/// The deliveries to replay.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::ui) struct ActionForm {
    since: String,
}

/// Enables an endpoint.
pub(in crate::ui) async fn enable(page_state: Visitor, Path(endpoint): Path<String>) -> Done {
    let endpoint: EndpointId = visit::id(&endpoint, "endpoint")?;
    page_state.node.enable(endpoint).await?;
    to_endpoint(endpoint, Note::Enabled)
}

/// Disables an endpoint.
pub(in crate::ui) async fn disable(page_state: Visitor, Path(endpoint): Path<String>) -> Done {
    let endpoint: EndpointId = visit::id(&endpoint, "endpoint")?;
    page_state.node.disable(endpoint).await?;
    to_endpoint(endpoint, Note::Disabled)
}

/// Sends a test event, and shows its delivery.
pub(in crate::ui) async fn test(page_state: Visitor, Path(endpoint): Path<String>) -> Done {
    let endpoint: EndpointId = visit::id(&endpoint, "endpoint")?;
    let message = page_state.node.send_test(endpoint).await?;
    to_delivery(message, endpoint, Note::TestSent)
}

/// Replays an endpoint's dead letters.
pub(in crate::ui) async fn replay_many(
    page_state: Visitor,
    Path(endpoint): Path<String>,
    Form(form): Form<ActionForm>,
) -> Done {
    let endpoint: EndpointId = visit::id(&endpoint, "endpoint")?;
    let count = replay_dead(&page_state, endpoint, &form.since).await?;
    to_endpoint(endpoint, Note::Replayed(count))
}

/// Replays the dead letters that the list shows.
pub(in crate::ui) async fn replay_all(page_state: Visitor, Form(query): Form<Query>) -> Done {
    let filter = query.filter(Some(DeliveryState::Dead)).map_err(PageError::invalid)?;
    let mut count = 0;
    for application in applications(&page_state, &filter)? {
        count += replay(&page_state, application, filter.clone()).await?;
    }
    to_list("/ui/dead", "", &query, Note::Replayed(count))
}

/// Makes the waiting deliveries due that the list shows.
pub(in crate::ui) async fn retry_all(page_state: Visitor, Form(query): Form<Query>) -> Done {
    let filter = query.filter(None).map_err(PageError::invalid)?;
    let mut count = 0;
    for application in applications(&page_state, &filter)? {
        count += page_state.node.retry_many(application, filter.clone()).await? as u64;
    }
    to_list("/ui/deliveries", DeliveryState::Waiting.name(), &query, Note::Due(count))
}

/// Attempts the waiting deliveries to an endpoint now; at least a probe.
pub(in crate::ui) async fn retry_endpoint(
    page_state: Visitor,
    Path(endpoint): Path<String>,
) -> Done {
    let endpoint: EndpointId = visit::id(&endpoint, "endpoint")?;
    let known = page_state.node.endpoint(endpoint).ok_or_else(|| PageError::missing("endpoint"))?;
    let filter = DeliveryFilter { endpoint: Some(endpoint), ..DeliveryFilter::default() };
    let count = page_state.node.retry_many(known.application, filter).await?;
    to_endpoint(endpoint, Note::Due(count as u64))
}

/// Attempts one delivery now.
pub(in crate::ui) async fn retry_one(
    page_state: Visitor,
    Path((message, endpoint)): Path<(String, String)>,
) -> Done {
    let message: MessageId = visit::id(&message, "delivery")?;
    let endpoint: EndpointId = visit::id(&endpoint, "delivery")?;
    page_state.node.retry(message, endpoint).await?;
    to_delivery(message, endpoint, Note::Retried)
}

/// Makes the deliveries of messages that an endpoint has missed.
pub(in crate::ui) async fn replay_missing(
    page_state: Visitor,
    Path(endpoint): Path<String>,
    Form(form): Form<ActionForm>,
) -> Done {
    let endpoint: EndpointId = visit::id(&endpoint, "endpoint")?;
    let since = time(&form.since)?.ok_or_else(|| {
        PageError::invalid("Say since when: all messages may be very many.".into())
    })?;
    let filter = MessageFilter { since: Some(since), ..MessageFilter::default() };
    let count = page_state.node.replay_missing(endpoint, filter).await?;
    to_endpoint(endpoint, Note::Made(count as u64))
}

/// The application of the filter's endpoint, or all.
fn applications(
    page_state: &Visitor,
    filter: &DeliveryFilter,
) -> Result<Vec<ApplicationId>, PageError> {
    let node = &page_state.node;
    match filter.endpoint {
        None => Ok(node.applications().iter().map(|application| application.id).collect()),
        Some(id) => {
            let endpoint = node.endpoint(id).ok_or_else(|| PageError::missing("endpoint"))?;
            Ok(vec![endpoint.application])
        }
    }
}

/// Replays one delivery.
pub(in crate::ui) async fn replay_one(
    page_state: Visitor,
    Path((message, endpoint)): Path<(String, String)>,
) -> Done {
    let message: MessageId = visit::id(&message, "delivery")?;
    let endpoint: EndpointId = visit::id(&endpoint, "delivery")?;
    page_state.node.replay(ReplayRequest::One(message, endpoint)).await?;
    to_delivery(message, endpoint, Note::Replayed(1))
}

/// Cancels an open delivery.
pub(in crate::ui) async fn cancel(
    page_state: Visitor,
    Path((message, endpoint)): Path<(String, String)>,
) -> Done {
    let message: MessageId = visit::id(&message, "delivery")?;
    let endpoint: EndpointId = visit::id(&endpoint, "delivery")?;
    page_state.node.cancel(message, endpoint).await?;
    to_delivery(message, endpoint, Note::Cancelled)
}

async fn replay_dead(
    page_state: &Visitor,
    endpoint: EndpointId,
    since: &str,
) -> Result<u64, PageError> {
    let endpoint =
        page_state.node.endpoint(endpoint).ok_or_else(|| PageError::missing("endpoint"))?;
    let (endpoint, since) = (&endpoint, time(since)?);
    let filter = DeliveryFilter { endpoint: Some(endpoint.id), since, ..DeliveryFilter::default() };
    replay(page_state, endpoint.application, filter).await
}

/// The time that was typed, if one was.
fn time(text: &str) -> Result<Option<Instant>, PageError> {
    let wrong =
        || PageError::invalid(format!("since = {text}: must be like 2026-11-28T06:17, UTC"));
    match text.trim() {
        "" => Ok(None),
        text => Ok(Some(visit::parse_time(text).ok_or_else(wrong)?)),
    }
}

async fn replay(
    page_state: &Visitor,
    application: ApplicationId,
    filter: DeliveryFilter,
) -> Result<u64, PageError> {
    let filter = DeliveryFilter { state: Some(DeliveryState::Dead), ..filter };
    Ok(page_state.node.replay(ReplayRequest::Many(application, filter)).await? as u64)
}

/// Back to the list that the form was on.
fn to_list(path: &str, state: &str, query: &Query, note: Note) -> Done {
    let pairs = [
        ("state", state),
        ("endpoint", &query.endpoint),
        ("event_type", &query.event_type),
        ("status", &query.status),
        ("since", &query.since),
        ("until", &query.until),
    ];
    let given = pairs.into_iter().filter(|(_, value)| !value.is_empty());
    Ok(Redirect::to(&note.onto(&with_query(path, given))))
}

fn to_endpoint(endpoint: EndpointId, note: Note) -> Done {
    Ok(Redirect::to(&note.onto(&format!("/ui/endpoints/{endpoint}"))))
}

fn to_delivery(message: MessageId, endpoint: EndpointId, note: Note) -> Done {
    Ok(Redirect::to(&note.onto(&format!("/ui/deliveries/{message}/{endpoint}"))))
}
