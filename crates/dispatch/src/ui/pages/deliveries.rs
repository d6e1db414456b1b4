//! Lists of deliveries, and of dead ones.

use std::sync::Arc;

use axum::extract::{Query as UrlQuery, State};
use axum::response::Response;
use http::Uri;

use super::error::PageError;
use super::line::delivery_lines;
use super::visit::{Query, here, show, with_query};
use super::{cursor, visit};
use crate::model::{DeliveryState, EndpointId};
use crate::node::Node;
use crate::store::{DeliveryFilter, ListPage, PageRequest};
use crate::ui::page_state::{PageState, present};
use crate::ui::view::{DeliveriesPage, Filter, Section};

/// Deliveries on a page.
const LIMIT: usize = 50;
/// Endpoints that are offered for choosing; any other can be typed.
const OFFERED: usize = 100;

/// Deliveries that pass a filter.
pub(in crate::ui) async fn deliveries(
    State(page_state): State<Arc<PageState>>,
    uri: Uri,
    UrlQuery(query): UrlQuery<Query>,
) -> Result<Response, PageError> {
    let state = DeliveryState::by_name(&query.state);
    list(&page_state, Section::Deliveries, &uri, &query, state).await
}

/// Dead letters.
pub(in crate::ui) async fn dead(
    State(page_state): State<Arc<PageState>>,
    uri: Uri,
    UrlQuery(query): UrlQuery<Query>,
) -> Result<Response, PageError> {
    list(&page_state, Section::Dead, &uri, &query, Some(DeliveryState::Dead)).await
}

async fn list(
    page_state: &PageState,
    section: Section,
    uri: &Uri,
    query: &Query,
    state: Option<DeliveryState>,
) -> Result<Response, PageError> {
    let (node, is_dead) = (&page_state.node, section == Section::Dead);
    let path = if is_dead { "/ui/dead" } else { "/ui/deliveries" };
    let typed = query.endpoint.trim();
    let endpoint = (!typed.is_empty()).then(|| visit::id::<EndpointId>(typed, "endpoint"));
    let is_wrong = endpoint.as_ref().is_some_and(Result::is_err);
    let endpoint = endpoint.and_then(Result::ok);
    let after = cursor::parse(&query.cursor)?;
    let page = if is_wrong {
        ListPage { items: Vec::new(), next: None }
    } else {
        let filter = DeliveryFilter { endpoint, state, ..DeliveryFilter::default() };
        node.store().deliveries(None, filter, PageRequest { after, limit: LIMIT }).await?
    };
    let named = state.filter(|_| !is_dead).map_or("", DeliveryState::name);
    let next = |cursor| link(path, named, typed, &cursor::print(cursor));
    show(&DeliveriesPage {
        frame: page_state.frame(section, here(uri), query.note()),
        title: if is_dead { "Dead letters" } else { "Deliveries" },
        filter: Filter {
            path,
            states: if is_dead { Vec::new() } else { states(path, typed, state) },
            state: named,
            endpoint: typed.into(),
            endpoints: offered(node),
            error: is_wrong.then(|| "An endpoint's id is ep_ and 32 hexadecimal digits.".into()),
        },
        older: page.next.map(next),
        is_first: after.is_none(),
        replay: (is_dead && !page.items.is_empty()).then(|| "/ui/dead/replay".into()),
        deliveries: delivery_lines(node, &page.items, present()).await?,
    })
}

fn link(path: &str, state: &str, endpoint: &str, cursor: &str) -> String {
    let pairs = [("state", state), ("endpoint", endpoint), ("cursor", cursor)];
    with_query(path, pairs.into_iter().filter(|(_, value)| !value.is_empty()))
}

/// All states and none, each with the list that shows it.
fn states(
    path: &str,
    endpoint: &str,
    asked: Option<DeliveryState>,
) -> Vec<(&'static str, String, bool)> {
    let mut states = vec![("all", link(path, "", endpoint, ""), asked.is_none())];
    states.extend(
        DeliveryState::ALL.map(|state| {
            (state.name(), link(path, state.name(), endpoint, ""), asked == Some(state))
        }),
    );
    states
}

fn offered(node: &Node) -> Vec<(String, String)> {
    let applications = node.applications().into_iter();
    let endpoints = applications.flat_map(|application| node.endpoints(application.id));
    endpoints.take(OFFERED).map(|e| (e.id.to_string(), e.url.clone())).collect()
}
