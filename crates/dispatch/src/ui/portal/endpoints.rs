//! The endpoints: all of them, one, and its secrets.

use std::sync::Arc;

use axum::extract::{Path, Query as UrlQuery};
use axum::response::Response;
use http::Uri;
use stagger::Instant;
use stagger_scheduler::model::{Disabled, Endpoint};
use stagger_sender::{public_key_text, secret_text};
use stagger_store::{DeliveryFilter, PageRequest};

use super::deliveries::portal_lines;
use super::error::PortalError;
use super::state::PortalVisitor;
use super::view::{HomePage, PortalEndpointPage, PortalSection, SecretLine, SecretPage};
use crate::api::manage;
use crate::ui::page_state::present;
use crate::ui::pages::endpoint::explained;
use crate::ui::pages::visit::{Query, show};
use crate::ui::view::{EndpointRow, EndpointStatus, Moment, Note, Settings, figure};

/// Endpoints on one page: more is no reading.
const ENDPOINTS_SHOWN: usize = 200;

/// The newest deliveries on the pages of endpoints; their list has all.
const NEWEST: usize = 10;

/// All endpoints, and the newest deliveries.
pub(super) async fn home(
    visitor: PortalVisitor,
    uri: Uri,
    UrlQuery(query): UrlQuery<Query>,
) -> Result<Response, PortalError> {
    let (node, now) = (&visitor.node, present());
    let all = node.endpoints(visitor.application.id);
    let mut endpoints = Vec::new();
    for endpoint in all.iter().take(ENDPOINTS_SHOWN) {
        endpoints.extend(row(&visitor, endpoint, now).await.map(|(row, _)| row));
    }
    let more = all.len().saturating_sub(ENDPOINTS_SHOWN);
    let page = PageRequest { after: None, limit: NEWEST };
    let application = Some(visitor.application.id);
    let newest = node.deliveries(application, DeliveryFilter::default(), page).await?;
    Ok(show(&HomePage {
        frame: visitor.frame(PortalSection::Endpoints, &uri, query.note()),
        endpoints,
        more: (more > 0).then(|| figure(more as u64)),
        deliveries: portal_lines(&visitor, &newest.items, now).await?,
    })?)
}

/// One endpoint: its state, its settings, its deliveries.
pub(super) async fn endpoint(
    visitor: PortalVisitor,
    Path((_, endpoint)): Path<(String, String)>,
    uri: Uri,
    UrlQuery(query): UrlQuery<Query>,
) -> Result<Response, PortalError> {
    let (endpoint, now) = (visitor.endpoint(&endpoint)?, present());
    let row = row(&visitor, &endpoint, now).await;
    let (row, status) = row.ok_or_else(|| PortalError::missing("endpoint"))?;
    let filter = DeliveryFilter { endpoint: Some(endpoint.id), ..DeliveryFilter::default() };
    let page = PageRequest { after: None, limit: NEWEST };
    let newest = visitor.node.deliveries(Some(visitor.application.id), filter, page).await?;
    Ok(show(&PortalEndpointPage {
        frame: visitor.frame(PortalSection::Endpoints, &uri, query.note()),
        id: endpoint.id.to_string(),
        row,
        is_disabled: status.is_disabled(),
        settings: Settings::new(&endpoint, now),
        deliveries: portal_lines(&visitor, &newest.items, now).await?,
    })?)
}

/// An endpoint's row, in the words of its owner; none if it was deleted meanwhile.
async fn row(
    visitor: &PortalVisitor,
    endpoint: &Arc<Endpoint>,
    now: Instant,
) -> Option<(EndpointRow, EndpointStatus)> {
    let (node, base) = (&visitor.node, visitor.base());
    let view = node.view(endpoint.id).await?;
    let status = EndpointStatus::of(&view, now);
    let mut row = explained(node, endpoint, &visitor.application, &view, now).await;
    row.href = format!("{base}/endpoints/{}", endpoint.id);
    if let (Some(failure), Some(last)) = (&mut row.failure, view.endpoint_state.last_failure) {
        failure.delivery = format!("{base}/deliveries/{}/{}", last.message, endpoint.id);
    }
    match status {
        EndpointStatus::Open | EndpointStatus::HalfOpen => {
            row.state = EndpointStatus::Failing.into();
        }
        EndpointStatus::Disabled(Disabled::ByHand) => {
            row.meaning = "It was disabled by hand. Its deliveries wait.";
        }
        _ => {}
    }
    Some((row, status))
}

/// The secrets of an endpoint that sign now.
pub(super) async fn secret(
    visitor: PortalVisitor,
    Path((_, endpoint)): Path<(String, String)>,
    uri: Uri,
    UrlQuery(query): UrlQuery<Query>,
) -> Result<Response, PortalError> {
    let endpoint = visitor.endpoint(&endpoint)?;
    Ok(show(&secret_page(&visitor, &endpoint, &uri, query.note(), false))?)
}

/// Replaces the secret, and shows the new one.
pub(super) async fn replace_secret(
    visitor: PortalVisitor,
    Path((_, endpoint)): Path<(String, String)>,
    uri: Uri,
) -> Result<Response, PortalError> {
    let endpoint = visitor.endpoint(&endpoint)?;
    let replaced = manage::replace_secret(&visitor.node, endpoint.id, present()).await;
    replaced.map_err(PortalError::invalid)?;
    let endpoint = visitor.endpoint(&endpoint.id.to_string())?;
    let page = secret_page(&visitor, &endpoint, &uri, Some(Note::SecretReplaced), false);
    Ok(show(&page)?)
}

pub(super) fn secret_page(
    visitor: &PortalVisitor,
    endpoint: &Endpoint,
    uri: &Uri,
    note: Option<Note>,
    is_new: bool,
) -> SecretPage {
    let now = present();
    let signing = endpoint.secrets.iter().filter(|secret| secret.signs_at(now));
    let secrets = signing.map(|secret| SecretLine {
        text: secret_text(secret),
        public_key: public_key_text(secret),
        until: secret.until.map(|until| Moment::new(until, now)),
    });
    SecretPage {
        frame: visitor.frame(PortalSection::Endpoints, uri, note),
        url: endpoint.url.clone(),
        back: format!("{}/endpoints/{}", visitor.base(), endpoint.id),
        is_new,
        secrets: secrets.collect(),
    }
}
