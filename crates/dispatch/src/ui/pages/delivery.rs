//! One delivery.

use std::sync::Arc;

use axum::extract::{Path, Query as UrlQuery, State};
use axum::response::Response;
use http::{StatusCode, Uri};
use stagger::Instant;
use stagger_text::{coarse, shown_size};

use super::error::PageError;
use super::line::{DELETED, delivery_href, due, reason};
use super::visit::{Query, here, id, show};
use crate::model::{Delivery, DeliveryAttempt, Message};
use crate::ui::page_state::{PageState, present};
use crate::ui::view::{AttemptLine, DeliveryPage, Frame, Moment, Section};

/// A delivery with every attempt.
pub(in crate::ui) async fn delivery(
    State(page_state): State<Arc<PageState>>,
    Path((message, endpoint)): Path<(String, String)>,
    uri: Uri,
    UrlQuery(query): UrlQuery<Query>,
) -> Result<Response, PageError> {
    let (store, now) = (page_state.node.store(), present());
    let (message, endpoint) = (id(&message, "delivery")?, id(&endpoint, "delivery")?);
    let found = store.delivery(message, endpoint).await?;
    let delivery = found.ok_or_else(|| PageError::missing("delivery"))?;
    let attempts = store.attempts(message, endpoint).await?;
    let message = store.message(message).await?;
    let frame = page_state.frame(Section::Deliveries, here(&uri), query.note());
    let mut page = page(frame, &delivery, message.as_ref(), now);
    page.attempts = attempts.iter().rev().map(|attempt| line(attempt, now)).collect();
    if let Some(endpoint) = page_state.node.endpoint(delivery.endpoint) {
        page.url.clone_from(&endpoint.url);
    }
    if let Some(application) = page_state.node.application(delivery.application) {
        page.application.clone_from(&application.name);
    }
    show(&page)
}

fn page(
    frame: Frame,
    delivery: &Delivery,
    message: Option<&Message>,
    now: Instant,
) -> DeliveryPage {
    let said = |get: fn(&Message) -> String| message.map_or(DELETED.into(), get);
    let is_open = delivery.state.is_open();
    DeliveryPage {
        frame,
        path: delivery_href(delivery),
        message: delivery.message.to_string(),
        event_type: said(|message| message.event_type.to_string()),
        accepted: message.map(|message| Moment::new(message.created_at, now)),
        size: said(|message| shown_size(message.size as u64)),
        content_type: said(|message| message.content_type.clone()),
        idempotency_key: said(|m| m.key.as_ref().map_or("none".into(), ToString::to_string)),
        url: DELETED.into(),
        endpoint_href: format!("/ui/endpoints/{}", delivery.endpoint),
        application: DELETED.into(),
        application_href: format!("/ui/applications/{}", delivery.application),
        state: delivery.state.into(),
        is_open,
        reason: delivery.ending.map_or("", reason),
        due: due(delivery, now),
        replays: delivery.replays,
        attempts: Vec::new(),
    }
}

fn line(attempt: &DeliveryAttempt, now: Instant) -> AttemptLine {
    let result = match (attempt.status, attempt.failure) {
        (Some(status), _) => status_line(status),
        (None, Some(failure)) => failure.name().into(),
        (None, None) => "no reply".into(),
    };
    let ended = attempt.started_at + attempt.latency;
    AttemptLine {
        number: attempt.number,
        started: Moment::new(attempt.started_at, now),
        latency: coarse(attempt.latency),
        result,
        verdict: attempt.verdict.into(),
        reason: attempt.detail.clone().unwrap_or_default(),
        hint: attempt.hint.map(coarse),
        next: attempt.next.map(|next| Moment::new(next, now)),
        delay: attempt.next.map(|next| coarse(next.since(ended))),
        reply: String::from_utf8_lossy(&attempt.reply).into_owned(),
    }
}

/// `503 Service Unavailable`; only the number where it has no name (RFC 9110 section 15).
fn status_line(status: u16) -> String {
    let name = StatusCode::from_u16(status).ok().and_then(|s| s.canonical_reason());
    name.map_or_else(|| status.to_string(), |name| format!("{status} {name}"))
}
