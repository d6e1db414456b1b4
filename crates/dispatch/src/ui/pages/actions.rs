//! The actions of the buttons. Each redirects to the page that shows its result.

use std::sync::Arc;

use axum::Form;
use axum::extract::{Path, State};
use axum::response::Redirect;
use serde::Deserialize;

use super::error::PageError;
use super::since;
use super::visit::{self, with_query};
use crate::model::{ApplicationId, DeliveryState, EndpointId, MessageId};
use crate::store::{DeliveryFilter, ReplayRequest};
use crate::ui::page_state::PageState;
use crate::ui::view::Note;

type Done = Result<Redirect, PageError>;

/// The deliveries to replay.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::ui) struct ActionForm {
    since: String,
    endpoint: String,
}

/// Enables an endpoint.
pub(in crate::ui) async fn enable(
    State(page_state): State<Arc<PageState>>,
    Path(endpoint): Path<String>,
) -> Done {
    let endpoint: EndpointId = visit::id(&endpoint, "endpoint")?;
    page_state.node.enable(endpoint).await?;
    to_endpoint(endpoint, Note::Enabled)
}

/// Disables an endpoint.
pub(in crate::ui) async fn disable(
    State(page_state): State<Arc<PageState>>,
    Path(endpoint): Path<String>,
) -> Done {
    let endpoint: EndpointId = visit::id(&endpoint, "endpoint")?;
    page_state.node.disable(endpoint).await?;
    to_endpoint(endpoint, Note::Disabled)
}

/// Sends a test event, and shows its delivery.
pub(in crate::ui) async fn test(
    State(page_state): State<Arc<PageState>>,
    Path(endpoint): Path<String>,
) -> Done {
    let endpoint: EndpointId = visit::id(&endpoint, "endpoint")?;
    let message = page_state.node.send_test(endpoint).await?;
    to_delivery(message, endpoint, Note::TestSent)
}

/// Replays an endpoint's dead letters.
pub(in crate::ui) async fn replay_many(
    State(page_state): State<Arc<PageState>>,
    Path(endpoint): Path<String>,
    Form(form): Form<ActionForm>,
) -> Done {
    let endpoint: EndpointId = visit::id(&endpoint, "endpoint")?;
    let count = replay_dead(&page_state, endpoint, &form.since).await?;
    to_endpoint(endpoint, Note::Replayed(count))
}

/// Replays all dead letters, or those of the endpoint that the list shows.
pub(in crate::ui) async fn replay_all(
    State(page_state): State<Arc<PageState>>,
    Form(form): Form<ActionForm>,
) -> Done {
    let mut count = 0;
    if form.endpoint.is_empty() {
        for application in page_state.node.applications() {
            count += replay(&page_state, application.id, DeliveryFilter::default()).await?;
        }
    } else {
        count = replay_dead(&page_state, visit::id(&form.endpoint, "endpoint")?, "").await?;
    }
    let pairs = [("endpoint", form.endpoint.as_str())];
    let list = with_query("/ui/dead", pairs.into_iter().filter(|(_, value)| !value.is_empty()));
    Ok(Redirect::to(&Note::Replayed(count).onto(&list)))
}

/// Replays one delivery.
pub(in crate::ui) async fn replay_one(
    State(page_state): State<Arc<PageState>>,
    Path((message, endpoint)): Path<(String, String)>,
) -> Done {
    let message: MessageId = visit::id(&message, "delivery")?;
    let endpoint: EndpointId = visit::id(&endpoint, "delivery")?;
    page_state.node.replay(ReplayRequest::One(message, endpoint)).await?;
    to_delivery(message, endpoint, Note::Replayed(1))
}

/// Cancels an open delivery.
pub(in crate::ui) async fn cancel(
    State(page_state): State<Arc<PageState>>,
    Path((message, endpoint)): Path<(String, String)>,
) -> Done {
    let message: MessageId = visit::id(&message, "delivery")?;
    let endpoint: EndpointId = visit::id(&endpoint, "delivery")?;
    page_state.node.cancel(message, endpoint).await?;
    to_delivery(message, endpoint, Note::Cancelled)
}

async fn replay_dead(
    page_state: &PageState,
    endpoint: EndpointId,
    since: &str,
) -> Result<u64, PageError> {
    let endpoint =
        page_state.node.endpoint(endpoint).ok_or_else(|| PageError::missing("endpoint"))?;
    let wrong =
        || PageError::invalid(format!("since = {since}: must be like 2026-11-28T06:17, UTC"));
    let since = match since.trim() {
        "" => None,
        text => Some(since::parse(text).ok_or_else(wrong)?),
    };
    let filter = DeliveryFilter { endpoint: Some(endpoint.id), since, ..DeliveryFilter::default() };
    replay(page_state, endpoint.application, filter).await
}

async fn replay(
    page_state: &PageState,
    application: ApplicationId,
    filter: DeliveryFilter,
) -> Result<u64, PageError> {
    let filter = DeliveryFilter { state: Some(DeliveryState::Dead), ..filter };
    Ok(page_state.node.replay(ReplayRequest::Many(application, filter)).await? as u64)
}

fn to_endpoint(endpoint: EndpointId, note: Note) -> Done {
    Ok(Redirect::to(&note.onto(&format!("/ui/endpoints/{endpoint}"))))
}

fn to_delivery(message: MessageId, endpoint: EndpointId, note: Note) -> Done {
    Ok(Redirect::to(&note.onto(&format!("/ui/deliveries/{message}/{endpoint}"))))
}
