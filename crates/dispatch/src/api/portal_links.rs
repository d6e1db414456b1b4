//! Links to the portal of an application: making and deleting them.

use axum::extract::State;
use axum::response::IntoResponse;
use http::StatusCode;
use http::header::CACHE_CONTROL;
use serde::{Deserialize, Serialize};
use stagger::Span;
use stagger_scheduler::model::PortalLinkId;
use stagger_text::Timestamp;
use utoipa::ToSchema;

use super::auth::{OwnLink, Tenant};
use super::body::Json;
use super::openapi;
use super::problem::Problem;
use super::state::Api;
use super::wire::{PortalLinkIdText, SpanText, TimestampText};
use crate::Error;
use crate::access::Capability;
use crate::node::MAX_LIFETIME;

/// The lifetime of a link that asks for none: a person who has asked for it is still there.
const DEFAULT_LIFETIME: Span = Span::from_secs(60 * 60);

/// The shortest lifetime: a browser has to open it.
const MIN_LIFETIME: Span = Span::from_secs(60);

/// A link to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewPortalLink {
    /// The time for which the link and the session behind it last, from `1m` to `7d`: default `1h`.
    #[schema(value_type = Option<SpanText>)]
    expires_in: Option<Span>,
    /// The permissions of the person who opens it: default `read`.
    #[serde(default)]
    capability: Capability,
}

/// A link that was just made.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PortalLinkCreated {
    #[schema(value_type = PortalLinkIdText)]
    id: PortalLinkId,
    /// The address to send the person to, or to put into a frame. It opens the portal once, and is shown only here.
    #[schema(example = "https://hooks.example/portal/open#pl_AZAWPYaUc5uE9rDTzMOloQ")]
    url: String,
    capability: Capability,
    /// The time at which the link, and the session behind it, end.
    #[schema(value_type = TimestampText)]
    expires_at: Timestamp,
}

/// Makes a link that opens the portal of an application once. Nothing is kept of it.
#[utoipa::path(
    post, path = "/v1/applications/{app}/portal-links", tag = "portal",
    params(openapi::ApplicationPath),
    request_body = NewPortalLink,
    responses((status = 201, description = "The link, shown only here.", body = PortalLinkCreated)),
)]
pub(super) async fn create_portal_link(
    State(api): State<Api>,
    tenant: Tenant,
    Json(new): Json<NewPortalLink>,
) -> Result<impl IntoResponse, Problem> {
    let lifetime = new.expires_in.unwrap_or(DEFAULT_LIFETIME);
    if !(MIN_LIFETIME..=MAX_LIFETIME).contains(&lifetime) {
        return Err(Error::invalid("expires_in", lifetime, "from 1m to 7d").into());
    }
    let (id, until) = (PortalLinkId::from_uuid(api.new_id()?), api.now() + lifetime);
    let made = api.node().portal_link(tenant.id(), id, new.capability, until).await?;
    let (grant, token) = made;
    let created = PortalLinkCreated {
        id,
        url: format!("{}/portal/open#{token}", api.base()),
        capability: grant.capability,
        expires_at: Timestamp(grant.until),
    };
    Ok((StatusCode::CREATED, [(CACHE_CONTROL, "no-store")], axum::Json(created)))
}

/// Deletes a link: it opens nothing any more, and the session behind it ends now.
#[utoipa::path(
    delete, path = "/v1/applications/{app}/portal-links/{link}", tag = "portal",
    params(openapi::ApplicationPath, openapi::PortalLinkPath),
    responses(
        (status = 204, description = "It gives no access, whether there was such a link or not."),
        (status = 409, description = "A thousand links are opened or deleted already.",
            body = openapi::Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn delete_portal_link(
    State(api): State<Api>,
    link: OwnLink,
) -> Result<StatusCode, Problem> {
    api.node().delete_portal_link(link.application, link.id, api.now()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Deletes all links to the portal of an application: none opens it any more, and all sessions end now.
#[utoipa::path(
    delete, path = "/v1/applications/{app}/portal-links", tag = "portal",
    params(openapi::ApplicationPath),
    responses((status = 204, description = "None gives access.")),
)]
pub(super) async fn delete_portal_links(
    State(api): State<Api>,
    tenant: Tenant,
) -> Result<StatusCode, Problem> {
    api.node().close_portal(tenant.id()).await?;
    Ok(StatusCode::NO_CONTENT)
}
