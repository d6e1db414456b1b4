//! The routes of the API, its state, and whether it is healthy.

use axum::Router;
use axum::extract::State;
use axum::middleware::{from_fn_with_state, map_response};
use axum::response::Response;
use axum::routing::{any, get};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method, StatusCode};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::problem::Problem;
use super::state::{Api, ApiOptions};
use super::{
    api_keys, applications, audit, auth, deliveries, endpoints, event_types, export, filter_test,
    messages, nodes, openapi, operators, portal_links,
};
use crate::node::Node;

/// The API of `node`, at `/v1`, `/healthz` and `/readyz`. Other routes can be merged with it.
///
/// ```no_run
/// use std::sync::Arc;
/// use stagger_dispatch::api::{self, ApiOptions};
/// use stagger_scheduler::model::KeyHash;
/// # async fn serve(node: stagger_dispatch::node::Node) -> std::io::Result<()> {
/// let options = ApiOptions { admin: Some(KeyHash::of("a secret")), ..ApiOptions::default() };
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
/// axum::serve(listener, api::router(node, options)).await
/// # }
/// ```
pub fn router(node: Node, options: ApiOptions) -> Router {
    let (router, document) = documented().split_for_parts();
    let document = openapi::text(document);
    let api = Api::new(node, options);
    let described = move || async move { ([(CONTENT_TYPE, "application/json")], document) };
    router
        .route(openapi::PATH, get(described))
        .route("/v1/{*unknown}", any(unknown))
        .method_not_allowed_fallback(not_allowed)
        .layer(from_fn_with_state(api.clone(), audit::audited))
        .layer(from_fn_with_state(api.clone(), auth::authorize))
        .layer(map_response(no_store))
        .with_state(api)
}

/// All routes with their documentation, so that none is in one only.
pub(super) fn documented() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(applications::create_application, applications::list_applications))
        .routes(routes!(
            applications::get_application,
            applications::change_application,
            applications::delete_application
        ))
        .routes(routes!(applications::create_key, applications::revoke_keys))
        .routes(routes!(portal_links::create_portal_link, portal_links::delete_portal_links))
        .routes(routes!(portal_links::delete_portal_link))
        .routes(routes!(endpoints::create_endpoint, endpoints::list_endpoints))
        .routes(routes!(
            endpoints::get_endpoint,
            endpoints::change_endpoint,
            endpoints::delete_endpoint
        ))
        .routes(routes!(endpoints::enable_endpoint))
        .routes(routes!(endpoints::disable_endpoint))
        .routes(routes!(endpoints::test_endpoint))
        .routes(routes!(filter_test::test_filter))
        .routes(routes!(endpoints::list_secrets, endpoints::replace_secret))
        .routes(routes!(messages::send_message, messages::list_messages))
        .routes(routes!(messages::send_raw_message))
        .routes(routes!(messages::send_batch))
        .routes(routes!(messages::get_message, messages::delete_message))
        .routes(routes!(messages::get_payload, messages::delete_payload))
        .routes(routes!(deliveries::list_deliveries))
        .routes(routes!(deliveries::list_deliveries_of_message))
        .routes(routes!(deliveries::get_delivery))
        .routes(routes!(deliveries::list_attempts))
        .routes(routes!(deliveries::cancel_delivery))
        .routes(routes!(deliveries::replay_all))
        .routes(routes!(deliveries::replay_endpoint))
        .routes(routes!(deliveries::replay_delivery))
        .routes(routes!(deliveries::replay_missing))
        .routes(routes!(deliveries::retry_delivery))
        .routes(routes!(deliveries::retry_endpoint))
        .routes(routes!(deliveries::retry_all))
        .routes(routes!(export::export_messages))
        .routes(routes!(event_types::create_event_type, event_types::list_event_types))
        .routes(routes!(
            event_types::get_event_type,
            event_types::replace_event_type,
            event_types::delete_event_type
        ))
        .routes(routes!(api_keys::create_api_key, api_keys::list_api_keys))
        .routes(routes!(api_keys::delete_api_key))
        .routes(routes!(audit::list_audit))
        .routes(routes!(nodes::list_nodes))
        .routes(routes!(operators::list_operators))
        .routes(routes!(live))
        .routes(routes!(ready))
}

/// Replies are one caller's, and some show keys or secrets: nothing in between may keep them.
async fn no_store(mut response: Response) -> Response {
    response.headers_mut().entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

async fn unknown() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, format!("no such path; {} has all", openapi::PATH))
}

async fn not_allowed(method: Method) -> Problem {
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, format!("{method} does nothing here"))
}

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
    api.ready().await?;
    Ok("ready")
}
