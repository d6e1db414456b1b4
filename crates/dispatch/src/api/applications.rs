//! Applications: making, listing, changing and deleting them.

use axum::extract::State;
use http::StatusCode;
use stagger::Instant;
use std::num::NonZeroU32;
use uuid::Uuid;

use super::auth::{Admin, Tenant};
use super::body::{Json, JsonBytes};
use super::key::ApiKey;
use super::problem::Problem;
use super::query::{PageQuery, ValidQuery, paged};
use super::state::Api;
use super::wire::{ApplicationCreated, ApplicationSettings, ApplicationView, PageOf};
use super::{merge, openapi};
use crate::Error;
use crate::model::{Application, ApplicationId};
use crate::store::Cursor;

/// Makes an application, with its first key.
#[utoipa::path(
    post, path = "/v1/applications", tag = "applications", security(("admin" = [])),
    request_body = ApplicationSettings,
    responses((status = 201, description = "It was made.", body = ApplicationCreated)),
)]
pub(super) async fn create_application(
    State(api): State<Api>,
    _: Admin,
    Json(settings): Json<ApplicationSettings>,
) -> Result<(StatusCode, axum::Json<ApplicationCreated>), Problem> {
    let key = ApiKey::make()?;
    let mut application = blank(ApplicationId::from_uuid(api.new_id()?), api.now());
    settings.apply(&mut application)?;
    application.keys = vec![key.hash()];
    let view = ApplicationView::from(&application);
    api.node().put_application(application).await?;
    let created = ApplicationCreated { application: view, key: key.reveal() };
    Ok((StatusCode::CREATED, axum::Json(created)))
}

/// All applications, the oldest first.
#[utoipa::path(
    get, path = "/v1/applications", tag = "applications", security(("admin" = [])),
    params(PageQuery),
    responses((status = 200, description = "A page of them.", body = PageOf<ApplicationView>)),
)]
pub(super) async fn list_applications(
    State(api): State<Api>,
    _: Admin,
    ValidQuery(query): ValidQuery<PageQuery>,
) -> Result<axum::Json<PageOf<ApplicationView>>, Problem> {
    let place = |id: ApplicationId| Cursor { message: *id.as_uuid(), endpoint: Uuid::nil() };
    let all = api.node().applications();
    let (page, next) = paged(all, query.check()?, |application| place(application.id));
    let views = page.iter().map(|application| ApplicationView::from(&**application)).collect();
    Ok(axum::Json(PageOf::new(views, next)))
}

/// One application.
#[utoipa::path(
    get, path = "/v1/applications/{app}", tag = "applications",
    params(openapi::ApplicationPath),
    responses((status = 200, description = "The application.", body = ApplicationView)),
)]
pub(super) async fn get_application(tenant: Tenant) -> axum::Json<ApplicationView> {
    axum::Json(ApplicationView::from(&*tenant.application))
}

/// Changes the settings of an application, as a JSON merge patch (RFC 7396).
#[utoipa::path(
    patch, path = "/v1/applications/{app}", tag = "applications", security(("admin" = [])),
    params(openapi::ApplicationPath),
    request_body = openapi::ApplicationPatch,
    responses((status = 200, description = "It was changed.", body = ApplicationView)),
)]
pub(super) async fn change_application(
    State(api): State<Api>,
    _: Admin,
    tenant: Tenant,
    JsonBytes(patch): JsonBytes,
) -> Result<axum::Json<ApplicationView>, Problem> {
    let _changing = api.changing().await;
    let mut application = current(&api, tenant.id())?;
    let settings: ApplicationSettings =
        merge::patched(&ApplicationSettings::of(&application), &patch)?;
    settings.apply(&mut application)?;
    let view = ApplicationView::from(&application);
    api.node().put_application(application).await?;
    Ok(axum::Json(view))
}

/// Deletes an application and everything of it.
#[utoipa::path(
    delete, path = "/v1/applications/{app}", tag = "applications", security(("admin" = [])),
    params(openapi::ApplicationPath),
    responses((status = 204, description = "It is gone.")),
)]
pub(super) async fn delete_application(
    State(api): State<Api>,
    _: Admin,
    tenant: Tenant,
) -> Result<StatusCode, Problem> {
    let _changing = api.changing().await;
    api.node().delete_application(tenant.id()).await?;
    api.limiter().forget(tenant.id());
    Ok(StatusCode::NO_CONTENT)
}

/// The current application. The caller holds the lock for changes.
///
/// # Errors
/// It is gone.
pub(super) fn current(api: &Api, id: ApplicationId) -> Result<Application, Error> {
    let application = api.node().application(id);
    application.map(|it| (*it).clone()).ok_or_else(|| Error::not_found("application"))
}

fn blank(id: ApplicationId, created_at: Instant) -> Application {
    let (name, keys) = (String::new(), Vec::new());
    Application { id, name, keys, slots: NonZeroU32::MIN, created_at }
}
