//! The first page.

use std::sync::Arc;

use axum::extract::{Query as UrlQuery, State};
use axum::response::Response;
use http::Uri;
use stagger::Instant;

use super::error::PageError;
use super::line::tiles;
use super::visit::{Query, here, show};
use crate::node::Node;
use crate::ui::page_state::{PageState, present};
use crate::ui::view::{Chart, EndpointRow, EndpointStatus, OverviewPage, Section, figure};

/// The number of failing endpoints that are shown: a page that is still readable.
const SHOWN: usize = 50;

/// The overview of all endpoints.
pub(in crate::ui) async fn overview(
    State(page_state): State<Arc<PageState>>,
    uri: Uri,
    UrlQuery(query): UrlQuery<Query>,
) -> Result<Response, PageError> {
    let node = &page_state.node;
    let counts = node.store().counts(None).await?;
    let unhealthy = UnhealthyEndpoints::among(node, present()).await;
    show(&OverviewPage {
        frame: page_state.frame(Section::Overview, here(&uri), query.note()),
        chart: Chart::new(&node.attempt_rates(None), None),
        tiles: tiles(&counts, None),
        more: (unhealthy.more > 0).then(|| figure(unhealthy.more)),
        unhealthy: unhealthy.rows,
        is_new: node.applications().is_empty(),
        has_endpoints: unhealthy.has_endpoints,
    })
}

/// Endpoints that are not simply active.
#[derive(Debug, Default)]
struct UnhealthyEndpoints {
    rows: Vec<EndpointRow>,
    more: u64,
    has_endpoints: bool,
}

impl UnhealthyEndpoints {
    async fn among(node: &Node, now: Instant) -> Self {
        let mut unhealthy = Self::default();
        for application in node.applications() {
            for endpoint in node.endpoints(application.id) {
                unhealthy.has_endpoints = true;
                let Some(view) = node.view(endpoint.id).await else { continue };
                match EndpointStatus::of(&view, now) {
                    EndpointStatus::Active => {}
                    _ if unhealthy.rows.len() == SHOWN => unhealthy.more += 1,
                    _ => {
                        unhealthy.rows.push(EndpointRow::new(&endpoint, &application, &view, now));
                    }
                }
            }
        }
        unhealthy
    }
}
