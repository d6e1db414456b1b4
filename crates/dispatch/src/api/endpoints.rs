//! Endpoints: making, listing, changing, switching and deleting them.

use axum::extract::State;
use http::StatusCode;
use uuid::Uuid;

use super::auth::{OwnEndpoint, Tenant};
use super::body::{Json, JsonBytes};
use super::problem::Problem;
use super::query::{PageQuery, ValidQuery, paged};
use super::state::Api;
use super::wire::{
    EndpointContext, EndpointCreated, EndpointSettings, EndpointView, PageOf, TestSent,
};
use super::{merge, openapi};
use crate::Error;
use crate::model::{ApplicationId, Endpoint, EndpointId};
use crate::store::Cursor;

/// Most endpoints of an application: each message is written once for each of them.
const MAX_ENDPOINTS: usize = 1_000;

/// Makes an endpoint.
#[utoipa::path(
    post, path = "/v1/applications/{app}/endpoints", tag = "endpoints",
    params(openapi::ApplicationPath),
    request_body = EndpointSettings,
    responses(
        (status = 201, description = "It was made.", body = EndpointCreated),
        (status = 409, description = "There are a thousand already.", body = openapi::Problem,
            content_type = "application/problem+json"),
    ),
)]
pub(super) async fn create_endpoint(
    State(api): State<Api>,
    tenant: Tenant,
    Json(settings): Json<EndpointSettings>,
) -> Result<(StatusCode, axum::Json<EndpointCreated>), Problem> {
    let endpoint =
        settings.create(place(&api, EndpointId::from_uuid(api.new_id()?), tenant.id()))?;
    let _changing = api.changing().await;
    if api.node().endpoints(tenant.id()).len() >= MAX_ENDPOINTS {
        return Err(Error::conflict("the application already has 1000 endpoints").into());
    }
    api.node().put_endpoint(endpoint.clone()).await?;
    let secret = endpoint.secrets.first().map(crate::model::Secret::to_text).unwrap_or_default();
    let created = EndpointCreated { endpoint: view(&api, &endpoint).await, secret };
    Ok((StatusCode::CREATED, axum::Json(created)))
}

/// The endpoints of an application, the oldest first.
#[utoipa::path(
    get, path = "/v1/applications/{app}/endpoints", tag = "endpoints",
    params(openapi::ApplicationPath, PageQuery),
    responses((status = 200, description = "A page of them.", body = PageOf<EndpointView>)),
)]
pub(super) async fn list_endpoints(
    State(api): State<Api>,
    tenant: Tenant,
    ValidQuery(query): ValidQuery<PageQuery>,
) -> Result<axum::Json<PageOf<EndpointView>>, Problem> {
    let place = |id: EndpointId| Cursor { message: *id.as_uuid(), endpoint: Uuid::nil() };
    let all = api.node().endpoints(tenant.id());
    let (page, next) = paged(all, query.check()?, |endpoint| place(endpoint.id));
    let mut views = Vec::with_capacity(page.len());
    for endpoint in &page {
        views.push(view(&api, endpoint).await);
    }
    Ok(axum::Json(PageOf::new(views, next)))
}

/// One endpoint, with how it stands.
#[utoipa::path(
    get, path = "/v1/applications/{app}/endpoints/{ep}", tag = "endpoints",
    params(openapi::ApplicationPath, openapi::EndpointPath),
    responses((status = 200, description = "The endpoint.", body = EndpointView)),
)]
pub(super) async fn get_endpoint(
    State(api): State<Api>,
    own: OwnEndpoint,
) -> axum::Json<EndpointView> {
    axum::Json(view(&api, &own.endpoint).await)
}

/// Changes the settings of an endpoint, as a JSON merge patch (RFC 7396): members that are not
/// named stay, `null` resets a setting to its default.
#[utoipa::path(
    patch, path = "/v1/applications/{app}/endpoints/{ep}", tag = "endpoints",
    params(openapi::ApplicationPath, openapi::EndpointPath),
    request_body = openapi::EndpointPatch,
    responses((status = 200, description = "It was changed.", body = EndpointView)),
)]
pub(super) async fn change_endpoint(
    State(api): State<Api>,
    own: OwnEndpoint,
    JsonBytes(patch): JsonBytes,
) -> Result<axum::Json<EndpointView>, Problem> {
    let _changing = api.changing().await;
    let old = current(&api, own.endpoint.id)?;
    let settings: EndpointSettings = merge::patched(&EndpointSettings::of(&old), &patch)?;
    let endpoint = settings.replace(&old, place(&api, old.id, old.application))?;
    api.node().put_endpoint(endpoint.clone()).await?;
    Ok(axum::Json(view(&api, &endpoint).await))
}

/// Deletes an endpoint. Its open deliveries are cancelled.
#[utoipa::path(
    delete, path = "/v1/applications/{app}/endpoints/{ep}", tag = "endpoints",
    params(openapi::ApplicationPath, openapi::EndpointPath),
    responses((status = 204, description = "It is gone.")),
)]
pub(super) async fn delete_endpoint(
    State(api): State<Api>,
    own: OwnEndpoint,
) -> Result<StatusCode, Problem> {
    let _changing = api.changing().await;
    api.node().delete_endpoint(own.endpoint.id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Enables an endpoint: one probe first, then its backlog leaves slowly.
#[utoipa::path(
    post, path = "/v1/applications/{app}/endpoints/{ep}/enable", tag = "endpoints",
    params(openapi::ApplicationPath, openapi::EndpointPath),
    responses((status = 204, description = "It is enabled.")),
)]
pub(super) async fn enable_endpoint(
    State(api): State<Api>,
    own: OwnEndpoint,
) -> Result<StatusCode, Problem> {
    api.node().enable(own.endpoint.id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Disables an endpoint. Its deliveries wait.
#[utoipa::path(
    post, path = "/v1/applications/{app}/endpoints/{ep}/disable", tag = "endpoints",
    params(openapi::ApplicationPath, openapi::EndpointPath),
    responses((status = 204, description = "It is disabled.")),
)]
pub(super) async fn disable_endpoint(
    State(api): State<Api>,
    own: OwnEndpoint,
) -> Result<StatusCode, Problem> {
    api.node().disable(own.endpoint.id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Sends a test event of the type `stagger.test` to one endpoint, whatever types it asked for.
#[utoipa::path(
    post, path = "/v1/applications/{app}/endpoints/{ep}/test", tag = "endpoints",
    params(openapi::ApplicationPath, openapi::EndpointPath),
    responses((status = 202, description = "It is on disk, and on its way.", body = TestSent)),
)]
pub(super) async fn test_endpoint(
    State(api): State<Api>,
    own: OwnEndpoint,
) -> Result<(StatusCode, axum::Json<TestSent>), Problem> {
    let message = api.node().send_test(own.endpoint.id).await?;
    Ok((StatusCode::ACCEPTED, axum::Json(TestSent { message })))
}

/// The current endpoint. The caller holds the lock for changes.
///
/// # Errors
/// It is gone.
pub(super) fn current(api: &Api, id: EndpointId) -> Result<Endpoint, Error> {
    let endpoint = api.node().endpoint(id);
    endpoint.map(|it| (*it).clone()).ok_or_else(|| Error::not_found("endpoint"))
}

fn place(api: &Api, id: EndpointId, application: ApplicationId) -> EndpointContext<'_> {
    EndpointContext { id, application, now: api.now(), sender: api.node().sender() }
}

async fn view(api: &Api, endpoint: &Endpoint) -> EndpointView {
    EndpointView::new(endpoint, api.node().view(endpoint.id).await, api.now())
}
