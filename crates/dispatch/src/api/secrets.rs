//! The signing secrets of an endpoint: showing them, and replacing one without a gap.

use axum::extract::State;
use axum::response::IntoResponse;
use http::StatusCode;
use http::header::CACHE_CONTROL;

use super::auth::OwnEndpoint;
use super::body::Json;
use super::endpoints::current;
use super::openapi;
use super::problem::Problem;
use super::state::Api;
use super::wire::{NewSecret, SecretView, Secrets};
use crate::model::Endpoint;

/// The secrets that an endpoint's attempts are signed with, the newest first.
#[utoipa::path(
    get, path = "/v1/applications/{app}/endpoints/{ep}/secrets", tag = "endpoints",
    params(openapi::ApplicationPath, openapi::EndpointPath),
    responses((status = 200, description = "Those that sign now.", body = Secrets)),
)]
pub(super) async fn list_secrets(State(api): State<Api>, own: OwnEndpoint) -> impl IntoResponse {
    let now = api.now();
    let signing = own.endpoint.secrets.iter().filter(|secret| secret.signs_at(now));
    let secrets = signing.map(SecretView::from).collect();
    ([(CACHE_CONTROL, "no-store")], axum::Json(Secrets { secrets }))
}

/// Replaces the secret of an endpoint. The old ones sign beside it for a while, so that the receiver
/// can be changed without missing anything.
#[utoipa::path(
    post, path = "/v1/applications/{app}/endpoints/{ep}/secrets", tag = "endpoints",
    params(openapi::ApplicationPath, openapi::EndpointPath),
    request_body = Option<NewSecret>,
    responses(
        (status = 201, description = "The new secret signs from now on.", body = SecretView),
        (status = 409, description = "Ten sign already.", body = openapi::Problem,
            content_type = "application/problem+json"),
    ),
)]
pub(super) async fn replace_secret(
    State(api): State<Api>,
    own: OwnEndpoint,
    Json(new): Json<NewSecret>,
) -> Result<impl IntoResponse, Problem> {
    let _changing = api.changing().await;
    let now = api.now();
    let old = current(&api, own.endpoint.id)?;
    let secrets = new.rotate(&old.secrets, now)?;
    let view = secrets.first().map(SecretView::from);
    let endpoint = Endpoint { secrets, updated_at: now, ..old };
    api.node().put_endpoint(endpoint).await?;
    Ok((StatusCode::CREATED, [(CACHE_CONTROL, "no-store")], axum::Json(view)))
}
