//! The audit log: every change that a call makes is written down, and operators can read it.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::Method;
use serde::Serialize;
use serde_json::{Map, Value};
use stagger_store::AuditEntry;
use stagger_text::Timestamp;
use utoipa::ToSchema;

use super::auth::{ByOperator, Caller};
use super::problem::Problem;
use super::query::{AuditQuery, ValidQuery};
use super::state::Api;
use super::wire::TimestampText;

/// Longest body of a patch whose settings are named: settings are far smaller.
const MAX_PATCH: usize = 64 << 10;

/// A change that was made.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AuditEntry)]
pub(super) struct AuditView {
    /// Its number: later changes have higher ones.
    number: u64,
    /// The time of the change.
    #[schema(value_type = TimestampText)]
    at: Timestamp,
    /// The caller: `admin`, the name of an operator, either of them `on the page`, the name of an API key with its id, or
    /// the key of an application.
    actor: String,
    /// The method and the path of the call.
    action: String,
    /// The settings that a patch named.
    detail: String,
}

impl From<AuditEntry> for AuditView {
    fn from(entry: AuditEntry) -> Self {
        let AuditEntry { number, at, actor, action, detail } = entry;
        Self { number, at: Timestamp(at), actor, action, detail }
    }
}

/// Some changes.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AuditLog {
    /// The newest first.
    items: Vec<AuditView>,
}

/// The changes that callers have made, newest first: the newest 10,000 are kept.
#[utoipa::path(
    get, path = "/v1/audit", tag = "audit", security(("admin" = [])),
    params(AuditQuery),
    responses((status = 200, description = "A page of them.", body = AuditLog)),
)]
pub(super) async fn list_audit(
    State(api): State<Api>,
    _: ByOperator,
    ValidQuery(query): ValidQuery<AuditQuery>,
) -> Result<axum::Json<AuditLog>, Problem> {
    let (before, limit) = query.check()?;
    let entries = api.node().audit(before, limit).await?;
    Ok(axum::Json(AuditLog { items: entries.into_iter().map(AuditView::from).collect() }))
}

/// Writes a change down once it has been made. Reading, and accepting messages, changes no settings.
pub(super) async fn audited(State(api): State<Api>, request: Request, next: Next) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    if matches!(method, Method::GET | Method::HEAD) || is_message(&path) {
        return next.run(request).await;
    }
    let actor = actor(&api, &request);
    let (request, detail) = match named(request).await {
        Ok(named) => named,
        Err(refused) => return refused,
    };
    let response = next.run(request).await;
    if response.status().is_success() {
        let action = format!("{method} {path}");
        api.node().record(api.now(), actor, action, detail).await;
    }
    response
}

/// Whether the call sends messages, or only asks.
fn is_message(path: &str) -> bool {
    ["/messages", "/messages/raw", "/messages/batch", "/filter-test"]
        .iter()
        .any(|end| path.ends_with(end))
}

fn actor(api: &Api, request: &Request) -> String {
    match request.extensions().get::<Caller>() {
        Some(Caller::Operator(operator)) => operator.name.clone(),
        Some(Caller::Application(key)) => {
            let application = api.node().application_of_key(*key);
            application.map_or("nobody".into(), |application| format!("key of {}", application.id))
        }
        Some(Caller::Key(key)) => format!("{} ({})", key.name, key.id),
        None => "nobody".into(),
    }
}

/// The request, and the names of the settings in its body if it is a patch.
async fn named(request: Request) -> Result<(Request, String), Response> {
    let length = request.headers().get(http::header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if request.method() != Method::PATCH || length.is_none_or(|length| length > MAX_PATCH) {
        return Ok((request, String::new()));
    }
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, MAX_PATCH).await.map_err(|_| {
        Problem::new(http::StatusCode::BAD_REQUEST, "the body ended early").into_response()
    })?;
    let members: Map<String, Value> = serde_json::from_slice(&body).unwrap_or_default();
    let names: Vec<_> = members.keys().map(String::as_str).take(20).collect();
    Ok((Request::from_parts(head, Body::from(body)), names.join(", ")))
}
