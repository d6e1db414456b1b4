//! All applications, and one with its endpoints.

use std::sync::Arc;

use axum::extract::{Path, Query as UrlQuery, State};
use axum::response::Response;
use http::Uri;
use stagger::Instant;

use super::error::PageError;
use super::line::endpoint_row;
use super::visit::{Query, here, id, show};
use crate::model::Application;
use crate::node::Node;
use crate::ui::page_state::{PageState, present};
use crate::ui::view::{
    ApplicationLine, ApplicationPage, ApplicationsPage, Moment, Section, figure,
};

/// Endpoints on one page: more is no reading.
const SHOWN: usize = 500;

/// All applications.
pub(in crate::ui) async fn applications(
    State(page_state): State<Arc<PageState>>,
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
    State(page_state): State<Arc<PageState>>,
    Path(application): Path<String>,
    uri: Uri,
    UrlQuery(query): UrlQuery<Query>,
) -> Result<Response, PageError> {
    let (node, now) = (&page_state.node, present());
    let found = node.application(id(&application, "application")?);
    let application = found.ok_or_else(|| PageError::missing("application"))?;
    let all = node.endpoints(application.id);
    let mut endpoints = Vec::new();
    for endpoint in all.iter().take(SHOWN) {
        endpoints.extend(endpoint_row(node, &application, endpoint, now).await);
    }
    let more = all.len().saturating_sub(SHOWN);
    show(&ApplicationPage {
        frame: page_state.frame(Section::Applications, here(&uri), query.note()),
        application: line(node, &application, now),
        endpoints,
        more: (more > 0).then(|| figure(more as u64)),
    })
}

fn line(node: &Node, application: &Application, now: Instant) -> ApplicationLine {
    ApplicationLine {
        id: application.id.to_string(),
        name: application.name.clone(),
        endpoints: figure(node.endpoints(application.id).len() as u64),
        slots: figure(application.slots.get().into()),
        created: Moment::new(application.created_at, now),
    }
}
