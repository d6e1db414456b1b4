//! The routes.

use axum::Router;
use axum::routing::{any, get};
use http::header::CONTENT_TYPE;
use http::{Method, StatusCode};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::problem::Problem;
use super::state::Api;
use super::{
    ApiOptions, applications, deliveries, endpoints, health, keys, messages, openapi, replay,
    secrets,
};
use crate::node::Node;

/// The API of `node`, at `/v1`, `/healthz` and `/readyz`. Other routes can be merged with it.
///
/// ```no_run
/// use std::sync::Arc;
/// use stagger_dispatch::api::{self, ApiOptions};
/// use stagger_dispatch::model::KeyHash;
/// # async fn serve(node: stagger_dispatch::node::Node) -> std::io::Result<()> {
/// let options = ApiOptions { admin: Some(KeyHash::of("a secret")), ..ApiOptions::default() };
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
/// axum::serve(listener, api::router(node, options)).await
/// # }
/// ```
pub fn router(node: Node, options: ApiOptions) -> Router {
    let (router, document) = documented().split_for_parts();
    let document = openapi::text(document);
    let described = move || async move { ([(CONTENT_TYPE, "application/json")], document) };
    router
        .route(openapi::PATH, get(described))
        .route("/v1/{*unknown}", any(unknown))
        .method_not_allowed_fallback(not_allowed)
        .with_state(Api::new(node, options))
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
        .routes(routes!(keys::create_key, keys::revoke_keys))
        .routes(routes!(endpoints::create_endpoint, endpoints::list_endpoints))
        .routes(routes!(
            endpoints::get_endpoint,
            endpoints::change_endpoint,
            endpoints::delete_endpoint
        ))
        .routes(routes!(endpoints::enable_endpoint))
        .routes(routes!(endpoints::disable_endpoint))
        .routes(routes!(endpoints::test_endpoint))
        .routes(routes!(secrets::list_secrets, secrets::replace_secret))
        .routes(routes!(messages::send_message, messages::list_messages))
        .routes(routes!(messages::send_raw_message))
        .routes(routes!(messages::send_batch))
        .routes(routes!(messages::get_message))
        .routes(routes!(messages::get_payload))
        .routes(routes!(deliveries::list_deliveries))
        .routes(routes!(deliveries::list_deliveries_of_message))
        .routes(routes!(deliveries::get_delivery))
        .routes(routes!(deliveries::list_attempts))
        .routes(routes!(deliveries::cancel_delivery))
        .routes(routes!(replay::replay_all))
        .routes(routes!(replay::replay_endpoint))
        .routes(routes!(replay::replay_delivery))
        .routes(routes!(health::live))
        .routes(routes!(health::ready))
}

async fn unknown() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, format!("no such path; {} has all", openapi::PATH))
}

async fn not_allowed(method: Method) -> Problem {
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, format!("{method} does nothing here"))
}
