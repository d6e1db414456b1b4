//! The overview, and the pages of applications.

use axum::extract::{Path, Query as UrlQuery};
use axum::response::Response;
use http::Uri;
use stagger::{Instant, Span};
use stagger_scheduler::model::Application;

use super::endpoint::{endpoint_row, explained, tiles};
use super::visit::{PageError, Query, here, id, show};
use crate::api::manage::span_text;
use crate::node::{Node, NodeInfo};
use crate::ui::page_state::{Visitor, present};
use crate::ui::view::{
    ApplicationLine, ApplicationPage, ApplicationsPage, Chart, EndpointRow, EndpointStatus, Moment,
    NodeLine, OverviewPage, Section, figure,
};

/// The number of failing endpoints that are shown: a page that is still readable.
const FAILING_SHOWN: usize = 50;

/// The overview of all endpoints.
pub(in crate::ui) async fn overview(
    page_state: Visitor,
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
        nodes: node.nodes().into_iter().map(node_line).collect(),
    })
}

fn node_line(node: NodeInfo) -> NodeLine {
    let now = present();
    NodeLine {
        name: node.name,
        version: node.version.unwrap_or_else(|| "unknown".to_owned()),
        started: node.started_at.map(|at| Moment::new(at, now)),
        last_seen: Moment::new(node.last_seen_at, now),
        shards: node.shards,
        draining: node.draining,
        is_this: node.is_this,
    }
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
                    _ if unhealthy.rows.len() == FAILING_SHOWN => unhealthy.more += 1,
                    _ => {
                        let row = explained(node, &endpoint, &application, &view, now).await;
                        unhealthy.rows.push(row);
                    }
                }
            }
        }
        unhealthy
    }
}

/// Endpoints on one page: more is no reading.
const ENDPOINTS_SHOWN: usize = 500;

/// All applications.
pub(in crate::ui) async fn applications(
    page_state: Visitor,
    uri: Uri,
    UrlQuery(query): UrlQuery<Query>,
) -> Result<Response, PageError> {
    let (node, now) = (&page_state.node, present());
    show(&ApplicationsPage {
        frame: page_state.frame(Section::Applications, here(&uri), query.note()),
        applications: node.applications().iter().map(|a| line(node, a, now)).collect(),
    })
}

/// One application.
pub(in crate::ui) async fn application(
    page_state: Visitor,
    Path(application): Path<String>,
    uri: Uri,
    UrlQuery(query): UrlQuery<Query>,
) -> Result<Response, PageError> {
    let (node, now) = (&page_state.node, present());
    let found = node.application(id(&application, "application")?);
    let application = found.ok_or_else(|| PageError::missing("application"))?;
    let all = node.endpoints(application.id);
    let mut endpoints = Vec::new();
    for endpoint in all.iter().take(ENDPOINTS_SHOWN) {
        endpoints.extend(endpoint_row(node, &application, endpoint, now).await);
    }
    let more = all.len().saturating_sub(ENDPOINTS_SHOWN);
    show(&ApplicationPage {
        frame: page_state.frame(Section::Applications, here(&uri), query.note()),
        application: line(node, &application, now),
        endpoints,
        more: (more > 0).then(|| figure(more as u64)),
    })
}

/// The time for which the finished messages of an application are kept.
fn kept(node: &Node, application: &Application) -> Span {
    application.retention.unwrap_or(Span::MAX).min(node.retention())
}

fn line(node: &Node, application: &Application, now: Instant) -> ApplicationLine {
    ApplicationLine {
        id: application.id.to_string(),
        name: application.name.clone(),
        endpoints: figure(node.endpoints(application.id).len() as u64),
        slots: figure(application.slots.get().into()),
        retention: span_text(kept(node, application)),
        created: Moment::new(application.created_at, now),
    }
}
