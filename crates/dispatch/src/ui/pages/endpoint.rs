//! An endpoint, the lines of its deliveries, and the rates of its attempts.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query as UrlQuery};
use axum::response::{IntoResponse, Response};
use http::header::CACHE_CONTROL;
use http::{StatusCode, Uri};
use serde::Serialize;
use stagger::Instant;
use stagger_scheduler::QueueView;
use stagger_scheduler::model::{
    Application, AttemptFailure, Delivery, DeliveryAttempt, DeliveryEnding, DeliveryState,
    Endpoint, EndpointId, LastFailure,
};
use stagger_store::{DeliveryCounts, DeliveryFilter, PageRequest};

use super::visit::{PageError, Query, here, id, show};
use crate::node;
use crate::node::Node;
use crate::ui::page_state::{Visitor, present};
use crate::ui::view::{
    Chart, DeliveryLine, EndpointPage, EndpointRow, EndpointStatus, ErrorBars, FailureLine, Moment,
    Section, Settings, Tile, figure,
};

/// The number of newest deliveries on the page of an endpoint; their list has all.
const NEWEST: usize = 10;

/// The page of an endpoint: its state, its settings, its deliveries.
pub(in crate::ui) async fn endpoint(
    page_state: Visitor,
    Path(endpoint): Path<String>,
    uri: Uri,
    UrlQuery(query): UrlQuery<Query>,
) -> Result<Response, PageError> {
    let (node, now) = (&page_state.node, present());
    let missing = || PageError::missing("endpoint");
    let endpoint: EndpointId = id(&endpoint, "endpoint")?;
    let endpoint = node.endpoint(endpoint).ok_or_else(missing)?;
    let application = node.application(endpoint.application).ok_or_else(missing)?;
    let view = node.view(endpoint.id).await.ok_or_else(missing)?;
    let filter = DeliveryFilter { endpoint: Some(endpoint.id), ..DeliveryFilter::default() };
    let page = PageRequest { after: None, limit: NEWEST };
    let newest = node.deliveries(Some(application.id), filter, page).await?;
    let counts = node.store().counts(Some(endpoint.id)).await?;
    let row = endpoint_row(node, &application, &endpoint, now).await.ok_or_else(missing)?;
    show(&EndpointPage {
        frame: page_state.frame(Section::Applications, here(&uri), query.note()),
        id: endpoint.id.to_string(),
        row,
        errors: ErrorBars::new(&node.results(endpoint.id)),
        is_disabled: EndpointStatus::of(&view, now).is_disabled(),
        chart: Chart::new(&node.attempt_rates(Some(endpoint.id)), Some(endpoint.id)),
        tiles: tiles(&counts, Some(&endpoint)),
        settings: Settings::new(&endpoint, now),
        deliveries: delivery_lines(node, &newest.items, now).await?,
    })
}

/// Attempts by the second, in columns.
#[derive(Debug, Default, Serialize)]
pub(in crate::ui) struct RateColumns {
    /// Seconds since the epoch.
    at: Vec<u64>,
    first: Vec<u32>,
    retries: Vec<u32>,
}

impl From<node::AttemptRates> for RateColumns {
    fn from(arrivals: node::AttemptRates) -> Self {
        let mut columns = Self::default();
        for second in arrivals.seconds {
            columns.at.push(second.at.as_nanos() / 1_000_000_000);
            columns.first.push(second.first);
            columns.retries.push(second.retries);
        }
        columns
    }
}

/// The attempts of the last 5 minutes, of one endpoint or of all.
pub(in crate::ui) async fn attempt_rates(
    page_state: Visitor,
    UrlQuery(query): UrlQuery<Query>,
) -> Result<Response, PageError> {
    let endpoint = match query.endpoint.as_str() {
        "" => None,
        text => Some(id(text, "endpoint")?),
    };
    let arrivals = RateColumns::from(page_state.node.attempt_rates(endpoint));
    Ok(([(CACHE_CONTROL, "no-store")], Json(arrivals)).into_response())
}

/// The text shown for deleted things.
pub(in crate::ui) const DELETED: &str = "(deleted)";

/// An endpoint's row; none if it was deleted meanwhile.
pub(in crate::ui) async fn endpoint_row(
    node: &Node,
    application: &Application,
    endpoint: &Arc<Endpoint>,
    now: Instant,
) -> Option<EndpointRow> {
    let view = node.view(endpoint.id).await?;
    Some(explained(node, endpoint, application, &view, now).await)
}

/// Characters of a reply that say why: more is on the page of the delivery.
const EXCERPT: usize = 300;

/// An endpoint's row, with the reason if it is not simply active.
pub(in crate::ui) async fn explained(
    node: &Node,
    endpoint: &Endpoint,
    application: &Application,
    view: &QueueView,
    now: Instant,
) -> EndpointRow {
    let mut row = EndpointRow::new(endpoint, application, view, now);
    let failure = view.endpoint_state.last_failure;
    if let Some(failure) = failure.filter(|_| EndpointStatus::of(view, now).is_trouble()) {
        row.failure = Some(failure_line(node, endpoint.id, failure, now).await);
    }
    row
}

async fn failure_line(
    node: &Node,
    endpoint: EndpointId,
    failure: LastFailure,
    now: Instant,
) -> FailureLine {
    // The message may have been pruned, and the store may be away: the rest is known all the same.
    let attempts = node.store().attempts(failure.message, endpoint).await.unwrap_or_default();
    let of_it =
        |it: &&DeliveryAttempt| (it.status, it.failure) == (failure.status, failure.failure);
    let attempt = attempts.iter().rev().find(of_it);
    let reply = attempt.map(|it| String::from_utf8_lossy(&it.reply).into_owned());
    FailureLine {
        result: result_line(failure.status, failure.failure),
        detail: attempt.and_then(|it| it.detail.clone()).unwrap_or_default(),
        at: Moment::new(failure.at, now),
        reply: excerpt(&reply.unwrap_or_default()),
        delivery: format!("/ui/deliveries/{}/{endpoint}", failure.message),
    }
}

fn excerpt(reply: &str) -> String {
    match reply.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{} …", &reply[..end]),
        None => reply.to_owned(),
    }
}

/// The status with its name, or the kind of failure.
pub(in crate::ui) fn result_line(status: Option<u16>, failure: Option<AttemptFailure>) -> String {
    match (status, failure) {
        (Some(status), _) => status_line(status),
        (None, Some(failure)) => failure.name().into(),
        (None, None) => "no reply".into(),
    }
}

/// `503 Service Unavailable`; only the number where it has no name (RFC 9110 section 15).
fn status_line(status: u16) -> String {
    let name = StatusCode::from_u16(status).ok().and_then(|s| s.canonical_reason());
    name.map_or_else(|| status.to_string(), |name| format!("{status} {name}"))
}

/// The rows of deliveries.
pub(in crate::ui) async fn delivery_lines(
    node: &Node,
    deliveries: &[Delivery],
    now: Instant,
) -> Result<Vec<DeliveryLine>, PageError> {
    let mut lines = Vec::with_capacity(deliveries.len());
    for delivery in deliveries {
        let message = node.store().message(delivery.message).await?;
        let event_type = message.map_or(DELETED.into(), |m| m.event_type.to_string());
        lines.push(delivery_line(node, delivery, event_type, now));
    }
    Ok(lines)
}

fn delivery_line(
    node: &Node,
    delivery: &Delivery,
    event_type: String,
    now: Instant,
) -> DeliveryLine {
    let url = node.endpoint(delivery.endpoint).map_or(DELETED.into(), |e| e.url.clone());
    let href = delivery_href(delivery);
    DeliveryLine {
        replay: (!delivery.state.is_open()).then(|| format!("{href}/replay")),
        retry: (delivery.state == DeliveryState::Waiting).then(|| format!("{href}/retry")),
        href,
        message: delivery.message.to_string(),
        event_type,
        url,
        endpoint_href: format!("/ui/endpoints/{}", delivery.endpoint),
        state: delivery.state.into(),
        reason: delivery.ending.map_or("", reason),
        attempts: delivery.attempts,
        due: due(delivery, now),
        updated: Moment::new(delivery.updated_at, now),
    }
}

/// The URL of a delivery's page.
pub(super) fn delivery_href(delivery: &Delivery) -> String {
    format!("/ui/deliveries/{}/{}", delivery.message, delivery.endpoint)
}

/// The time at which the next attempt is due, if it is in the future.
pub(in crate::ui) fn due(delivery: &Delivery, now: Instant) -> Option<Moment> {
    let is_ahead = delivery.state.is_open() && delivery.due > now;
    is_ahead.then(|| Moment::new(delivery.due, now))
}

/// Why a delivery ended, in words.
pub(in crate::ui) const fn reason(ending: DeliveryEnding) -> &'static str {
    match ending {
        DeliveryEnding::AttemptsExhausted => "no attempts left",
        DeliveryEnding::DeadlineExceeded => "deadline passed",
        DeliveryEnding::Permanent => "permanent status",
        DeliveryEnding::HintForbids => "the server said not to come back",
        DeliveryEnding::EgressRefused => "address refused by the egress guard",
        DeliveryEnding::Unbuildable => "request could not be built",
        DeliveryEnding::EndpointDeleted => "endpoint deleted",
        DeliveryEnding::Cancelled => "cancelled by hand",
    }
}

/// The number of deliveries in each state, each with a link to their list.
pub(super) fn tiles(counts: &DeliveryCounts, endpoint: Option<&Endpoint>) -> Vec<Tile> {
    let query = endpoint.map_or(String::new(), |endpoint| format!("&endpoint={}", endpoint.id));
    let tile = |state: DeliveryState| Tile {
        name: state.name(),
        count: figure(counts.of(state)),
        href: format!("/ui/deliveries?state={}{query}", state.name()),
    };
    DeliveryState::ALL.map(tile).into()
}
