//! The search: an id leads to what it names, any other text to the endpoints whose URLs contain it.

use axum::extract::Query as UrlQuery;
use axum::response::{IntoResponse, Redirect, Response};
use http::Uri;
use stagger_scheduler::model::{ApplicationId, EndpointId, MessageId};

use super::endpoint::{delivery_href, delivery_lines, endpoint_row};
use super::visit::{PageError, Query, here, show};
use crate::node::Node;
use crate::ui::page_state::{Visitor, present};
use crate::ui::view::{DeliveryLine, EndpointRow, SearchPage, Section};

/// Endpoints that are shown: a longer text finds fewer.
const MOST: usize = 50;

/// The page that the text names, or all that fit it.
pub(in crate::ui) async fn search(
    page_state: Visitor,
    uri: Uri,
    UrlQuery(query): UrlQuery<Query>,
) -> Result<Response, PageError> {
    let (node, text) = (&page_state.node, query.q.trim());
    if let Some(path) = path_of_id(node, text) {
        return Ok(Redirect::to(&path).into_response());
    }
    let deliveries = deliveries_of(node, text).await?;
    if let [only] = &deliveries[..] {
        return Ok(Redirect::to(&only.href).into_response());
    }
    let endpoints = if deliveries.is_empty() { endpoints(node, text).await } else { Vec::new() };
    if let [only] = &endpoints[..] {
        return Ok(Redirect::to(&only.href).into_response());
    }
    let frame = page_state.frame(Section::Outside, here(&uri), query.note());
    show(&SearchPage { frame, text: text.to_owned(), endpoints, deliveries })
}

fn path_of_id(node: &Node, text: &str) -> Option<String> {
    if let Ok(id) = text.parse::<EndpointId>() {
        return node.endpoint(id).map(|_| format!("/ui/endpoints/{id}"));
    }
    let id = text.parse::<ApplicationId>().ok()?;
    node.application(id).map(|_| format!("/ui/applications/{id}"))
}

/// The deliveries of the message that the text names.
async fn deliveries_of(node: &Node, text: &str) -> Result<Vec<DeliveryLine>, PageError> {
    let Ok(message) = text.parse::<MessageId>() else { return Ok(Vec::new()) };
    let deliveries = node.store().deliveries_of(message).await?;
    let mut lines = delivery_lines(node, &deliveries, present()).await?;
    for (line, delivery) in lines.iter_mut().zip(&deliveries) {
        line.href = delivery_href(delivery);
    }
    Ok(lines)
}

/// The endpoints whose URL or description contains the text, whatever the case.
async fn endpoints(node: &Node, text: &str) -> Vec<EndpointRow> {
    let (now, text) = (present(), text.to_lowercase());
    let mut rows = Vec::new();
    if text.is_empty() {
        return rows;
    }
    for application in node.applications() {
        for endpoint in node.endpoints(application.id) {
            let fits = endpoint.url.to_lowercase().contains(&text)
                || endpoint.description.to_lowercase().contains(&text);
            if fits && rows.len() < MOST {
                rows.extend(endpoint_row(node, &application, &endpoint, now).await);
            }
        }
    }
    rows
}
