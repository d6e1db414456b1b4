//! One endpoint.

use std::sync::Arc;

use axum::extract::{Path, Query as UrlQuery, State};
use axum::response::Response;
use http::Uri;

use super::error::PageError;
use super::line::{delivery_lines, tiles};
use super::visit::{Query, here, id, show};
use crate::model::EndpointId;
use crate::store::{DeliveryFilter, PageRequest};
use crate::ui::page_state::{PageState, present};
use crate::ui::view::{Chart, EndpointPage, EndpointRow, EndpointStatus, Section, Settings};

/// The number of newest deliveries on the page of an endpoint; their list has all.
const NEWEST: usize = 10;

/// The page of an endpoint: its state, its settings, its deliveries.
pub(in crate::ui) async fn endpoint(
    State(page_state): State<Arc<PageState>>,
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
    let newest = node.store().deliveries(Some(application.id), filter, page).await?;
    let counts = node.store().counts(Some(endpoint.id)).await?;
    show(&EndpointPage {
        frame: page_state.frame(Section::Applications, here(&uri), query.note()),
        id: endpoint.id.to_string(),
        row: EndpointRow::new(&endpoint, &application, &view, now),
        is_disabled: EndpointStatus::of(&view, now).is_disabled(),
        chart: Chart::new(&node.attempt_rates(Some(endpoint.id)), Some(endpoint.id)),
        tiles: tiles(&counts, Some(&endpoint)),
        settings: Settings::new(&endpoint, now),
        deliveries: delivery_lines(node, &newest.items, now).await?,
    })
}
