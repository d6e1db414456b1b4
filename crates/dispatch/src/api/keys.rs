//! The keys of an application: making further ones and revoking old ones.

use axum::extract::State;
use axum::response::IntoResponse;
use http::StatusCode;
use http::header::CACHE_CONTROL;

use super::applications::current;
use super::auth::Tenant;
use super::key::ApiKey;
use super::openapi;
use super::problem::Problem;
use super::state::Api;
use super::wire::KeyCreated;
use crate::Error;

/// Most keys of an application: each is compared on every request.
const MAX_KEYS: usize = 10;

/// Makes a further key for an application.
#[utoipa::path(
    post, path = "/v1/applications/{app}/keys", tag = "applications",
    params(openapi::ApplicationPath),
    responses(
        (status = 201, description = "The key, shown only here.", body = KeyCreated),
        (status = 409, description = "There are ten already.", body = openapi::Problem,
            content_type = "application/problem+json"),
    ),
)]
pub(super) async fn create_key(
    State(api): State<Api>,
    tenant: Tenant,
) -> Result<impl IntoResponse, Problem> {
    let _changing = api.changing().await;
    let mut application = current(&api, tenant.id())?;
    if application.keys.len() >= MAX_KEYS {
        return Err(
            Error::conflict("the application already has 10 keys; revoke old ones first").into()
        );
    }
    let key = ApiKey::make()?;
    application.keys.push(key.hash());
    api.node().put_application(application).await?;
    let created = axum::Json(KeyCreated { key: key.reveal() });
    Ok((StatusCode::CREATED, [(CACHE_CONTROL, "no-store")], created))
}

/// Revokes all keys of an application but one: the one that this request shows, or the newest if it
/// shows the admin's.
#[utoipa::path(
    delete, path = "/v1/applications/{app}/keys", tag = "applications",
    params(openapi::ApplicationPath),
    responses((status = 204, description = "Only one is left.")),
)]
pub(super) async fn revoke_keys(
    State(api): State<Api>,
    tenant: Tenant,
) -> Result<StatusCode, Problem> {
    let _changing = api.changing().await;
    let mut application = current(&api, tenant.id())?;
    let shown = tenant.key.filter(|key| application.keys.contains(key));
    let kept = shown.or_else(|| application.keys.last().copied());
    application.keys.retain(|key| Some(*key) == kept);
    api.node().put_application(application).await?;
    Ok(StatusCode::NO_CONTENT)
}
