//! Replays: finished deliveries made again. They leave as after trouble, slowly at first.

use axum::extract::State;
use http::StatusCode;

use super::auth::{OwnDelivery, OwnEndpoint, Tenant};
use super::body::Json;
use super::openapi;
use super::problem::Problem;
use super::state::Api;
use super::wire::{ReplayFilter, Replayed};
use crate::store::ReplayRequest;

/// Replays the dead deliveries of an application, to all endpoints.
#[utoipa::path(
    post, path = "/v1/applications/{app}/replay", tag = "replay",
    params(openapi::ApplicationPath),
    request_body = Option<ReplayFilter>,
    responses((status = 202, description = "They are pending again.", body = Replayed)),
)]
pub(super) async fn replay_all(
    State(api): State<Api>,
    tenant: Tenant,
    Json(filter): Json<ReplayFilter>,
) -> Result<(StatusCode, axum::Json<Replayed>), Problem> {
    replay(&api, ReplayRequest::Many(tenant.id(), filter.check(None)?)).await
}

/// Replays the dead deliveries to one endpoint.
#[utoipa::path(
    post, path = "/v1/applications/{app}/endpoints/{ep}/replay", tag = "replay",
    params(openapi::ApplicationPath, openapi::EndpointPath),
    request_body = Option<ReplayFilter>,
    responses((status = 202, description = "They are pending again.", body = Replayed)),
)]
pub(super) async fn replay_endpoint(
    State(api): State<Api>,
    own: OwnEndpoint,
    Json(filter): Json<ReplayFilter>,
) -> Result<(StatusCode, axum::Json<Replayed>), Problem> {
    let filter = filter.check(Some(own.endpoint.id))?;
    replay(&api, ReplayRequest::Many(own.tenant.id(), filter)).await
}

/// Replays one delivery, whatever became of it.
#[utoipa::path(
    post, path = "/v1/applications/{app}/messages/{msg}/deliveries/{ep}/replay", tag = "replay",
    params(openapi::ApplicationPath, openapi::MessagePath, openapi::EndpointPath),
    responses(
        (status = 202, description = "It is pending again.", body = Replayed),
        (status = 409, description = "It is open, or its endpoint is gone.", body = openapi::Problem,
            content_type = "application/problem+json"),
    ),
)]
pub(super) async fn replay_delivery(
    State(api): State<Api>,
    OwnDelivery(delivery): OwnDelivery,
) -> Result<(StatusCode, axum::Json<Replayed>), Problem> {
    replay(&api, ReplayRequest::One(delivery.message, delivery.endpoint)).await
}

async fn replay(
    api: &Api,
    request: ReplayRequest,
) -> Result<(StatusCode, axum::Json<Replayed>), Problem> {
    let replayed = api.node().replay(request).await?;
    Ok((StatusCode::ACCEPTED, axum::Json(Replayed { replayed })))
}
