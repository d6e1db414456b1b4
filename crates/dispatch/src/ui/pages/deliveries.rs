//! Lists of deliveries, and one of them.

use axum::extract::{Path, Query as UrlQuery};
use axum::response::Response;
use http::Uri;
use stagger::Instant;
use stagger_scheduler::model::{
    Delivery, DeliveryAttempt, DeliveryState, Endpoint, Message, REPLY_LIMIT,
};
use stagger_store::{ListPage, PageRequest};
use stagger_text::{coarse, shown_size};

use super::endpoint::{DELETED, delivery_href, delivery_lines, due, reason, result_line};
use super::visit;
use super::visit::{PageError, Query, here, id, show, with_query};
use crate::node::Node;
use crate::ui::page_state::{Visitor, present};
use crate::ui::view::{AttemptLine, DeliveriesPage, DeliveryPage, Filter, Frame, Moment, Section};

/// Deliveries on a page.
const LIMIT: usize = 50;
/// Endpoints that are offered for choosing; any other can be typed.
const OFFERED: usize = 100;

/// Deliveries that pass a filter.
pub(in crate::ui) async fn deliveries(
    page_state: Visitor,
    uri: Uri,
    UrlQuery(query): UrlQuery<Query>,
) -> Result<Response, PageError> {
    let state = DeliveryState::by_name(&query.state);
    list(&page_state, Section::Deliveries, &uri, &query, state).await
}

/// Dead letters.
pub(in crate::ui) async fn dead(
    page_state: Visitor,
    uri: Uri,
    UrlQuery(query): UrlQuery<Query>,
) -> Result<Response, PageError> {
    list(&page_state, Section::Dead, &uri, &query, Some(DeliveryState::Dead)).await
}

async fn list(
    page_state: &Visitor,
    section: Section,
    uri: &Uri,
    query: &Query,
    state: Option<DeliveryState>,
) -> Result<Response, PageError> {
    let (node, is_dead) = (&page_state.node, section == Section::Dead);
    let path = if is_dead { "/ui/dead" } else { "/ui/deliveries" };
    let after = visit::parse_cursor(&query.cursor)?;
    let filter = query.filter(state);
    let error = filter.as_ref().err().cloned();
    let page = match filter {
        Ok(filter) => node.deliveries(None, filter, PageRequest { after, limit: LIMIT }).await?,
        Err(_) => ListPage { items: Vec::new(), next: None },
    };
    let named = state.filter(|_| !is_dead).map_or("", DeliveryState::name);
    let next = |cursor| link(path, named, query, &visit::print_cursor(cursor));
    let again = match state {
        Some(DeliveryState::Dead) => Some("/ui/dead/replay"),
        Some(DeliveryState::Waiting) => Some("/ui/deliveries/retry"),
        _ => None,
    };
    let text = |text: &String| text.trim().to_owned();
    show(&DeliveriesPage {
        frame: page_state.frame(section, here(uri), query.note()),
        title: if is_dead { "Dead letters" } else { "Deliveries" },
        filter: Filter {
            path,
            states: if is_dead { Vec::new() } else { states(path, query, state) },
            state: named,
            endpoint: text(&query.endpoint),
            event_type: text(&query.event_type),
            status: text(&query.status),
            since: text(&query.since),
            until: text(&query.until),
            endpoints: offered(node),
            error,
        },
        older: page.next.map(next),
        is_first: after.is_none(),
        again: again.filter(|_| !page.items.is_empty()),
        deliveries: delivery_lines(node, &page.items, present()).await?,
    })
}

fn link(path: &str, state: &str, query: &Query, cursor: &str) -> String {
    let pairs = [
        ("state", state),
        ("endpoint", query.endpoint.trim()),
        ("event_type", query.event_type.trim()),
        ("status", query.status.trim()),
        ("since", query.since.trim()),
        ("until", query.until.trim()),
        ("cursor", cursor),
    ];
    with_query(path, pairs.into_iter().filter(|(_, value)| !value.is_empty()))
}

/// All states and none, each with the list that shows it.
fn states(
    path: &str,
    query: &Query,
    asked: Option<DeliveryState>,
) -> Vec<(&'static str, String, bool)> {
    let mut states = vec![("all", link(path, "", query, ""), asked.is_none())];
    states
        .extend(DeliveryState::ALL.map(|state| {
            (state.name(), link(path, state.name(), query, ""), asked == Some(state))
        }));
    states
}

fn offered(node: &Node) -> Vec<(String, String)> {
    let applications = node.applications().into_iter();
    let endpoints = applications.flat_map(|application| node.endpoints(application.id));
    endpoints.take(OFFERED).map(|e| (e.id.to_string(), e.url.clone())).collect()
}

/// A delivery with every attempt.
pub(in crate::ui) async fn delivery(
    page_state: Visitor,
    Path((message, endpoint)): Path<(String, String)>,
    uri: Uri,
    UrlQuery(query): UrlQuery<Query>,
) -> Result<Response, PageError> {
    let (store, now) = (page_state.node.store(), present());
    let (message, endpoint) = (id(&message, "delivery")?, id(&endpoint, "delivery")?);
    let found = store.delivery(message, endpoint).await?;
    let delivery = found.ok_or_else(|| PageError::missing("delivery"))?;
    let attempts = store.attempts(message, endpoint).await?;
    let payload = store.payload(message).await?;
    let message = store.message(message).await?;
    let frame = page_state.frame(Section::Deliveries, here(&uri), query.note());
    let mut page = page(frame, &delivery, message.as_ref(), now);
    page.attempts = attempts.iter().rev().map(|attempt| attempt_line(attempt, now)).collect();
    if let Some(payload) = &payload {
        let shown = &payload[..payload.len().min(PAYLOAD)];
        page.payload = Some(String::from_utf8_lossy(shown).into_owned());
        let rest = payload.len() - shown.len();
        page.payload_rest = (rest > 0).then(|| shown_size(rest as u64));
    }
    if let Some(endpoint) = page_state.node.endpoint(delivery.endpoint) {
        page.url.clone_from(&endpoint.url);
        if let Some(message) = &message {
            page.headers = sent_headers(message, &endpoint, delivery.attempts.max(1));
        }
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
        payload: None,
        payload_rest: None,
        headers: String::new(),
    }
}

/// Bytes of a payload that are shown.
pub(in crate::ui) const PAYLOAD: usize = 16 << 10;

/// The headers of attempt `number` as the endpoint's settings are now, without secret values.
fn sent_headers(message: &Message, endpoint: &Endpoint, number: u32) -> String {
    let own = [
        format!("content-type: {}", message.content_type),
        format!("webhook-id: {}", message.id),
        "webhook-timestamp: (seconds since 1970 at the attempt)".into(),
        "webhook-signature: (not shown)".into(),
    ];
    let custom = endpoint.headers.iter().map(|header| {
        let value = if header.sensitive {
            "(not shown)".into()
        } else {
            header
                .value
                .replace("{message.id}", &message.id.to_string())
                .replace("{event.type}", message.event_type.as_str())
                .replace("{attempt.number}", &number.to_string())
        };
        format!("{}: {value}", header.name)
    });
    own.into_iter().chain(custom).collect::<Vec<_>>().join("\n")
}

pub(in crate::ui) fn attempt_line(attempt: &DeliveryAttempt, now: Instant) -> AttemptLine {
    let result = result_line(attempt.status, attempt.failure);
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
        limit: (attempt.reply.len() >= REPLY_LIMIT).then_some(REPLY_LIMIT),
    }
}
