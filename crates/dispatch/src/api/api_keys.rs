//! API keys with names and scopes: making, listing and deleting them.

use axum::extract::State;
use axum::response::IntoResponse;
use http::StatusCode;
use http::header::CACHE_CONTROL;
use serde::{Deserialize, Serialize};
use stagger::{Instant, Span};
use stagger_scheduler::model::{ApiKeyId, ApplicationId};
use stagger_text::Timestamp;
use utoipa::ToSchema;

use super::auth::{ByOperator, Caller, OwnApiKey};
use super::body::Json;
use super::openapi;
use super::problem::Problem;
use super::state::Api;
use super::wire::{ApiKeyIdText, ApplicationIdText, ScopeName, TimestampText};
use crate::Error;
use crate::access::{ApiKey, ApiKeySecret, Scope};

/// A key to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewApiKey {
    /// A name for people.
    #[schema(min_length = 1, max_length = 100, example = "billing service")]
    name: String,
    /// The permissions, one at least.
    #[schema(value_type = Vec<ScopeName>, min_items = 1)]
    scopes: Vec<String>,
    /// The only application whose data the key gives access to: default all of them.
    #[schema(value_type = Option<ApplicationIdText>)]
    application: Option<String>,
    /// The time from which the key is refused: default never.
    #[schema(value_type = Option<TimestampText>)]
    expires_at: Option<String>,
}

impl NewApiKey {
    fn into_key(
        self,
        (id, secret): (ApiKeyId, &ApiKeySecret),
        now: Instant,
    ) -> Result<ApiKey, Error> {
        let scopes = self.scopes.iter().map(|scope| scope.parse::<Scope>());
        let application = self.application.map(|id| id.parse::<ApplicationId>()).transpose()?;
        let key = ApiKey {
            id,
            name: self.name,
            hash: secret.hash(),
            scopes: scopes.collect::<Result<_, _>>()?,
            application,
            created_at: now,
            expires_at: super::query::bound("expires_at", self.expires_at.as_deref())?,
        };
        key.check()
    }
}

/// An API key, without its secret.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ApiKey)]
pub(super) struct ApiKeyView {
    #[schema(value_type = ApiKeyIdText)]
    id: ApiKeyId,
    /// A name for people, which is also that in the audit log.
    name: String,
    /// The permissions.
    #[schema(value_type = Vec<ScopeName>)]
    scopes: Vec<Scope>,
    /// The only application whose data the key gives access to.
    #[schema(value_type = Option<ApplicationIdText>)]
    application: Option<ApplicationId>,
    #[schema(value_type = TimestampText)]
    created_at: Timestamp,
    /// The time from which the key is refused.
    #[schema(value_type = Option<TimestampText>)]
    expires_at: Option<Timestamp>,
    /// The day of its last use, UTC.
    #[schema(value_type = Option<String>, format = Date)]
    last_used_on: Option<String>,
}

impl ApiKeyView {
    fn new(key: &ApiKey, used_on: Option<u32>) -> Self {
        Self {
            id: key.id,
            name: key.name.clone(),
            scopes: key.scopes.clone(),
            application: key.application,
            created_at: Timestamp(key.created_at),
            expires_at: key.expires_at.map(Timestamp),
            last_used_on: used_on.map(day_text),
        }
    }
}

/// A day as RFC 3339 writes it.
pub(crate) fn day_text(day: u32) -> String {
    let midnight = Instant::ORIGIN + Span::from_secs(u64::from(day) * 24 * 60 * 60);
    let text = Timestamp(midnight).to_string();
    text.split('T').next().unwrap_or_default().to_owned()
}

/// A key that was just made.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ApiKeyCreated {
    #[serde(flatten)]
    api_key: ApiKeyView,
    /// The key. It is shown only here.
    #[schema(example = "stgr_1Yz3UNBFSeuVhI5mcyN8EJ2XoSGDbrPOKs1M0Wc9dqA")]
    key: String,
}

/// All API keys.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ApiKeyList {
    /// The oldest first.
    items: Vec<ApiKeyView>,
}

/// Makes an API key. A key that expires makes only keys that expire no later.
#[utoipa::path(
    post, path = "/v1/api-keys", tag = "API keys", security(("admin" = [])),
    request_body = NewApiKey,
    responses(
        (status = 201, description = "The key, shown only here.", body = ApiKeyCreated),
        (status = 409, description = "There are a thousand already.", body = openapi::Problem,
            content_type = "application/problem+json"),
    ),
)]
pub(super) async fn create_api_key(
    State(api): State<Api>,
    _: ByOperator,
    caller: Caller,
    Json(new): Json<NewApiKey>,
) -> Result<impl IntoResponse, Problem> {
    let (id, secret) = (ApiKeyId::from_uuid(api.new_id()?), ApiKeySecret::make()?);
    let key = new.into_key((id, &secret), api.now())?;
    refuse_more(&caller, &key)?;
    let view = ApiKeyView::new(&key, None);
    api.node().add_api_key(key).await?;
    let created = ApiKeyCreated { api_key: view, key: secret.reveal() };
    Ok((StatusCode::CREATED, [(CACHE_CONTROL, "no-store")], axum::Json(created)))
}

/// Refuses a key that can do more, or for longer, than the key that makes it.
fn refuse_more(caller: &Caller, new: &ApiKey) -> Result<(), Problem> {
    let Caller::Key(own) = caller else { return Ok(()) };
    if let Some(scope) = new.scopes.iter().find(|scope| !own.has(**scope)) {
        return Err(Problem::forbidden(format!("the key lacks the scope {scope}")));
    }
    let Some(end) = own.expires_at else { return Ok(()) };
    if new.expires_at.is_none_or(|at| at > end) {
        let bound = format!("at most {}, at which the key of this request expires", Timestamp(end));
        let given =
            new.expires_at.map_or_else(|| "null".to_owned(), |at| Timestamp(at).to_string());
        return Err(Error::invalid("expires_at", given, bound).into());
    }
    Ok(())
}

/// All API keys, also those that have expired.
#[utoipa::path(
    get, path = "/v1/api-keys", tag = "API keys", security(("admin" = [])),
    responses((status = 200, description = "All of them.", body = ApiKeyList)),
)]
pub(super) async fn list_api_keys(
    State(api): State<Api>,
    _: ByOperator,
) -> Result<axum::Json<ApiKeyList>, Problem> {
    let keys = api.node().api_keys().await?;
    let items = keys.iter().map(|(key, used_on)| ApiKeyView::new(key, *used_on)).collect();
    Ok(axum::Json(ApiKeyList { items }))
}

/// Deletes an API key: no node takes it any more.
#[utoipa::path(
    delete, path = "/v1/api-keys/{key}", tag = "API keys", security(("admin" = [])),
    params(openapi::ApiKeyPath),
    responses((status = 204, description = "It is gone.")),
)]
pub(super) async fn delete_api_key(
    State(api): State<Api>,
    _: ByOperator,
    OwnApiKey(id): OwnApiKey,
) -> Result<StatusCode, Problem> {
    api.node().delete_api_key(id).await?;
    Ok(StatusCode::NO_CONTENT)
}
