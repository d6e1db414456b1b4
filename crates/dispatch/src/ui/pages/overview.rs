//! The first page.

use std::sync::Arc;

use axum::extract::{Query as Asked, State};
use axum::response::Response;
use http::Uri;
use stagger::Instant;

use super::line::tiles;
use super::trouble::Trouble;
use super::visit::{Query, here, show};
use crate::node::Node;
use crate::ui::desk::{Desk, present};
use crate::ui::view::{Chart, EndpointRow, EndpointState, OverviewPage, Section, figure};

/// Endpoints in trouble that are shown: what fits on a page that one can still read.
const SHOWN: usize = 50;

/// How everything goes at this moment.
pub(in crate::ui) async fn overview(
    State(desk): State<Arc<Desk>>,
    uri: Uri,
    Asked(query): Asked<Query>,
) -> Result<Response, Trouble> {
    let node = &desk.node;
    let counts = node.store().counts(None).await?;
    let ailing = Ailing::among(node, present()).await;
    show(&OverviewPage {
        frame: desk.frame(Section::Overview, here(&uri), query.note()),
        chart: Chart::new(&node.arrivals(None), None),
        tiles: tiles(&counts, None),
        more: (ailing.more > 0).then(|| figure(ailing.more)),
        trouble: ailing.rows,
        is_new: node.applications().is_empty(),
        has_endpoints: ailing.has_endpoints,
    })
}

/// Endpoints that are not simply active.
#[derive(Debug, Default)]
struct Ailing {
    rows: Vec<EndpointRow>,
    more: u64,
    has_endpoints: bool,
}

impl Ailing {
    async fn among(node: &Node, now: Instant) -> Self {
        let mut ailing = Self::default();
        for application in node.applications() {
            for endpoint in node.endpoints(application.id) {
                ailing.has_endpoints = true;
                let Some(view) = node.view(endpoint.id).await else { continue };
                match EndpointState::of(&view, now) {
                    EndpointState::Active => {}
                    _ if ailing.rows.len() == SHOWN => ailing.more += 1,
                    _ => {
                        ailing.rows.push(EndpointRow::new(&endpoint, &application, &view, now));
                    }
                }
            }
        }
        ailing
    }
}
