//! The actions of the buttons. Each redirects to the page that shows its result.

use axum::Form;
use axum::extract::Path;
use axum::response::Redirect;
use serde::Deserialize;
use stagger::Instant;
use stagger_scheduler::model::{DeliveryState, Endpoint};
use stagger_store::{DeliveryFilter, MessageFilter, ReplayRequest};

use super::error::PortalError;
use super::state::PortalVisitor;
use crate::ui::pages::visit::parse_time;
use crate::ui::view::Note;

type Redirected = Result<Redirect, PortalError>;

/// The path of an endpoint's pages: its application, which the session has checked, and the endpoint.
type EndpointPath = Path<(String, String)>;

/// The path of a delivery's pages.
type DeliveryPath = Path<(String, String, String)>;

/// The time from which messages are sent again.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SinceForm {
    since: String,
}

pub(super) async fn enable(
    visitor: PortalVisitor,
    Path((_, endpoint)): EndpointPath,
) -> Redirected {
    let endpoint = visitor.endpoint(&endpoint)?;
    visitor.node.enable(endpoint.id).await?;
    to_endpoint(&visitor, &endpoint, Note::Enabled)
}

pub(super) async fn disable(
    visitor: PortalVisitor,
    Path((_, endpoint)): EndpointPath,
) -> Redirected {
    let endpoint = visitor.endpoint(&endpoint)?;
    visitor.node.disable(endpoint.id).await?;
    to_endpoint(&visitor, &endpoint, Note::Disabled)
}

/// Sends a test event, and shows its delivery.
pub(super) async fn test(visitor: PortalVisitor, Path((_, endpoint)): EndpointPath) -> Redirected {
    let endpoint = visitor.endpoint(&endpoint)?;
    let message = visitor.node.send_test(endpoint.id).await?;
    let path = format!("{}/deliveries/{message}/{}", visitor.base(), endpoint.id);
    Ok(Redirect::to(&Note::TestSent.onto(&path)))
}

/// Attempts the waiting deliveries to an endpoint now; at least a probe.
pub(super) async fn retry_endpoint(
    visitor: PortalVisitor,
    Path((_, endpoint)): EndpointPath,
) -> Redirected {
    let endpoint = visitor.endpoint(&endpoint)?;
    let filter = DeliveryFilter { endpoint: Some(endpoint.id), ..DeliveryFilter::default() };
    let count = visitor.node.retry_many(visitor.application.id, filter).await?;
    to_endpoint(&visitor, &endpoint, Note::Due(count as u64))
}

/// Replays an endpoint's dead letters.
pub(super) async fn replay_endpoint(
    visitor: PortalVisitor,
    Path((_, endpoint)): EndpointPath,
    Form(form): Form<SinceForm>,
) -> Redirected {
    let endpoint = visitor.endpoint(&endpoint)?;
    let filter = DeliveryFilter {
        endpoint: Some(endpoint.id),
        state: Some(DeliveryState::Dead),
        since: time(&form.since)?,
        ..DeliveryFilter::default()
    };
    let request = ReplayRequest::Many(visitor.application.id, filter);
    let count = visitor.node.replay(request).await?;
    to_endpoint(&visitor, &endpoint, Note::Replayed(count as u64))
}

/// Makes the deliveries of messages that an endpoint has missed.
pub(super) async fn replay_missing(
    visitor: PortalVisitor,
    Path((_, endpoint)): EndpointPath,
    Form(form): Form<SinceForm>,
) -> Redirected {
    let endpoint = visitor.endpoint(&endpoint)?;
    let since = time(&form.since)?;
    let since = since.ok_or_else(|| PortalError::invalid("Say since when."))?;
    let filter = MessageFilter { since: Some(since), ..MessageFilter::default() };
    let count = visitor.node.replay_missing(endpoint.id, filter).await?;
    to_endpoint(&visitor, &endpoint, Note::Made(count as u64))
}

/// Attempts one delivery now.
pub(super) async fn retry_one(
    visitor: PortalVisitor,
    Path((_, message, endpoint)): DeliveryPath,
) -> Redirected {
    let delivery = visitor.delivery(&message, &endpoint).await?;
    visitor.node.retry(delivery.message, delivery.endpoint).await?;
    to_delivery(&visitor, &message, &endpoint, Note::Retried)
}

/// Replays one delivery.
pub(super) async fn replay_one(
    visitor: PortalVisitor,
    Path((_, message, endpoint)): DeliveryPath,
) -> Redirected {
    let delivery = visitor.delivery(&message, &endpoint).await?;
    let request = ReplayRequest::One(delivery.message, delivery.endpoint);
    visitor.node.replay(request).await?;
    to_delivery(&visitor, &message, &endpoint, Note::Replayed(1))
}

/// The time that was typed, if one was.
fn time(text: &str) -> Result<Option<Instant>, PortalError> {
    let wrong =
        || PortalError::invalid(format!("since = {text}: must be like 2026-11-28T06:17, UTC"));
    match text.trim() {
        "" => Ok(None),
        text => parse_time(text).map(Some).ok_or_else(wrong),
    }
}

fn to_endpoint(visitor: &PortalVisitor, endpoint: &Endpoint, note: Note) -> Redirected {
    let path = format!("{}/endpoints/{}", visitor.base(), endpoint.id);
    Ok(Redirect::to(&note.onto(&path)))
}

fn to_delivery(visitor: &PortalVisitor, message: &str, endpoint: &str, note: Note) -> Redirected {
    let path = format!("{}/deliveries/{message}/{endpoint}", visitor.base());
    Ok(Redirect::to(&note.onto(&path)))
}
