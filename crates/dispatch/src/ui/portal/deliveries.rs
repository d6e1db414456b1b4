//! Lists of deliveries, and one of them.

use axum::extract::{Path, Query as UrlQuery};
use axum::response::Response;
use http::Uri;
use stagger::Instant;
use stagger_scheduler::model::{Delivery, DeliveryState, Message};
use stagger_store::PageRequest;
use stagger_text::shown_size;

use super::error::PortalError;
use super::state::PortalVisitor;
use super::view::{PortalDeliveriesPage, PortalDelivery, PortalDeliveryPage, PortalSection};
use crate::ui::page_state::present;
use crate::ui::pages::deliveries::{PAYLOAD, attempt_line};
use crate::ui::pages::endpoint::{DELETED, delivery_lines, due, reason, result_line};
use crate::ui::pages::visit::{Query, parse_cursor, print_cursor, show, with_query};
use crate::ui::view::Moment;

/// Deliveries on a page.
const LIMIT: usize = 25;

/// Deliveries that pass a filter.
pub(super) async fn deliveries(
    visitor: PortalVisitor,
    uri: Uri,
    UrlQuery(query): UrlQuery<Query>,
) -> Result<Response, PortalError> {
    let state = DeliveryState::by_name(&query.state);
    let filter = query.filter(state).map_err(PortalError::invalid)?;
    let endpoint = match filter.endpoint {
        Some(id) => Some(visitor.endpoint(&id.to_string())?.url.clone()),
        None => None,
    };
    let after = parse_cursor(&query.cursor)?;
    let page = PageRequest { after, limit: LIMIT };
    let page = visitor.node.deliveries(Some(visitor.application.id), filter, page).await?;
    let path = format!("{}/deliveries", visitor.base());
    let link = |state: &str, cursor: &str| {
        let pairs = [("state", state), ("endpoint", query.endpoint.trim()), ("cursor", cursor)];
        with_query(&path, pairs.into_iter().filter(|(_, value)| !value.is_empty()))
    };
    let mut states = vec![("all", link("", ""), state.is_none())];
    states.extend(DeliveryState::ALL.map(|it| (it.name(), link(it.name(), ""), state == Some(it))));
    let named = state.map_or("", DeliveryState::name);
    Ok(show(&PortalDeliveriesPage {
        frame: visitor.frame(PortalSection::Deliveries, &uri, query.note()),
        states,
        endpoint,
        older: page.next.map(|cursor| link(named, &print_cursor(cursor))),
        newest: after.map(|_| link(named, "")),
        deliveries: portal_lines(&visitor, &page.items, present()).await?,
        path,
    })?)
}

/// The rows of deliveries, with their last results.
pub(super) async fn portal_lines(
    visitor: &PortalVisitor,
    deliveries: &[Delivery],
    now: Instant,
) -> Result<Vec<PortalDelivery>, PortalError> {
    let (node, base) = (&visitor.node, visitor.base());
    let mut rows = Vec::with_capacity(deliveries.len());
    let lines = delivery_lines(node, deliveries, now).await?;
    for (mut line, delivery) in lines.into_iter().zip(deliveries) {
        let href = format!("{base}/deliveries/{}/{}", delivery.message, delivery.endpoint);
        line.replay = line.replay.map(|_| format!("{href}/replay"));
        line.retry = line.retry.map(|_| format!("{href}/retry"));
        line.endpoint_href = format!("{base}/endpoints/{}", delivery.endpoint);
        line.href = href;
        let attempts = node.store().attempts(delivery.message, delivery.endpoint).await?;
        let last = attempts.last().map(|attempt| result_line(attempt.status, attempt.failure));
        rows.push(PortalDelivery { line, last });
    }
    Ok(rows)
}

/// A delivery with every attempt.
pub(super) async fn delivery(
    visitor: PortalVisitor,
    Path((_, message, endpoint)): Path<(String, String, String)>,
    uri: Uri,
    UrlQuery(query): UrlQuery<Query>,
) -> Result<Response, PortalError> {
    let (store, now) = (visitor.node.store(), present());
    let delivery = visitor.delivery(&message, &endpoint).await?;
    let attempts = store.attempts(delivery.message, delivery.endpoint).await?;
    let payload = store.payload(delivery.message).await?;
    let message = store.message(delivery.message).await?;
    let said = |get: fn(&Message) -> String| message.as_ref().map_or(DELETED.into(), get);
    let shown = payload.as_ref().map(|bytes| &bytes[..bytes.len().min(PAYLOAD)]);
    let rest = payload.as_ref().map_or(0, |bytes| bytes.len().saturating_sub(PAYLOAD));
    let endpoint = visitor.node.endpoint(delivery.endpoint);
    let base = visitor.base();
    Ok(show(&PortalDeliveryPage {
        frame: visitor.frame(PortalSection::Deliveries, &uri, query.note()),
        path: format!("{base}/deliveries/{}/{}", delivery.message, delivery.endpoint),
        message: delivery.message.to_string(),
        event_type: said(|message| message.event_type.to_string()),
        accepted: message.as_ref().map(|message| Moment::new(message.created_at, now)),
        size: said(|message| shown_size(message.size as u64)),
        content_type: said(|message| message.content_type.clone()),
        url: endpoint.as_ref().map_or(DELETED.into(), |endpoint| endpoint.url.clone()),
        endpoint_href: endpoint.map(|endpoint| format!("{base}/endpoints/{}", endpoint.id)),
        state: delivery.state.into(),
        is_open: delivery.state.is_open(),
        reason: delivery.ending.map_or("", reason),
        due: due(&delivery, now),
        attempts: attempts.iter().rev().map(|attempt| attempt_line(attempt, now)).collect(),
        payload: shown.map(|bytes| String::from_utf8_lossy(bytes).into_owned()),
        payload_rest: (rest > 0).then(|| shown_size(rest as u64)),
    })?)
}
