//! Applications and their keys: making, listing, changing and deleting them.

use std::num::NonZeroU32;

use axum::extract::State;
use axum::response::IntoResponse;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::StatusCode;
use http::header::CACHE_CONTROL;
use stagger::Instant;
use stagger_scheduler::model::{Application, ApplicationId, KeyHash, Labels, PortalAccess};
use stagger_store::Cursor;
use uuid::Uuid;

use super::auth::{ByOperator, Tenant};
use super::body::{Json, JsonBytes};
use super::problem::Problem;
use super::query::{PageQuery, ValidQuery, paged};
use super::state::Api;
use super::wire::{ApplicationCreated, ApplicationSettings, ApplicationView, KeyCreated, PageOf};
use super::{body, openapi};
use crate::Error;
use crate::random::os_bytes;

/// Makes an application, with its first key.
#[utoipa::path(
    post, path = "/v1/applications", tag = "applications", security(("admin" = [])),
    request_body = ApplicationSettings,
    responses((status = 201, description = "It was made.", body = ApplicationCreated)),
)]
pub(super) async fn create_application(
    State(api): State<Api>,
    _: ByOperator,
    Json(settings): Json<ApplicationSettings>,
) -> Result<(StatusCode, axum::Json<ApplicationCreated>), Problem> {
    let key = ApplicationKey::make()?;
    let mut application = blank(ApplicationId::from_uuid(api.new_id()?), api.now());
    settings.apply(&mut application, api.node().retention())?;
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
    _: ByOperator,
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
    _: ByOperator,
    tenant: Tenant,
    JsonBytes(patch): JsonBytes,
) -> Result<axum::Json<ApplicationView>, Problem> {
    let _changing = api.changing().await;
    let mut application = current(&api, tenant.id())?;
    let settings: ApplicationSettings =
        body::patched(&ApplicationSettings::of(&application), &patch)?;
    settings.apply(&mut application, api.node().retention())?;
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
    _: ByOperator,
    tenant: Tenant,
) -> Result<StatusCode, Problem> {
    // Without the lock for changes: it takes seconds to delete much, and the node refuses changes to it.
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

pub(super) fn blank(id: ApplicationId, created_at: Instant) -> Application {
    Application {
        id,
        name: String::new(),
        keys: Vec::new(),
        slots: NonZeroU32::MIN,
        created_at,
        labels: Labels::default(),
        portal: PortalAccess::default(),
        retention: None,
        source: None,
        event_validation: None,
    }
}

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
    let key = ApplicationKey::make()?;
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

/// Random bytes of a key: as many as its hash has, so that neither can be guessed.
const BYTES: usize = 32;

/// A new key: shown once, and kept as its hash only.
pub(super) struct ApplicationKey(String);

impl ApplicationKey {
    /// A new random key.
    ///
    /// # Errors
    /// The system has no random bytes to give.
    pub(super) fn make() -> Result<Self, Error> {
        let bytes = os_bytes::<BYTES>()?;
        Ok(Self(format!("sk_{}", URL_SAFE_NO_PAD.encode(bytes))))
    }

    pub(super) fn hash(&self) -> KeyHash {
        KeyHash::of(&self.0)
    }

    pub(super) fn reveal(self) -> String {
        self.0
    }
}
