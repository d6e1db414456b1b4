//! Whether the dispatcher lives, and whether it can accept messages. Asked without a key.

use axum::extract::State;

use super::openapi;
use super::problem::Problem;
use super::state::Api;

/// Whether the process lives.
#[utoipa::path(
    get, path = "/healthz", tag = "health", security(()),
    responses((status = 200, description = "It lives.", body = String, content_type = "text/plain")),
)]
pub(super) async fn live() -> &'static str {
    "ok"
}

/// Whether messages can be accepted now.
#[utoipa::path(
    get, path = "/readyz", tag = "health", security(()),
    responses(
        (status = 200, description = "They can.", body = String, content_type = "text/plain"),
        (status = 503, description = "They cannot; the detail says why.", body = openapi::Problem,
            content_type = "application/problem+json"),
    ),
)]
pub(super) async fn ready(State(api): State<Api>) -> Result<&'static str, Problem> {
    api.node().ready().await?;
    Ok("ready")
}
