//! The routes of the operator's page, its state, and the headers of every reply.

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn_with_state, map_response};
use axum::response::{Redirect, Response};
use axum::routing::{get, post};
use http::HeaderMap;
use http::header::{
    CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};

use super::page_state::PageState;
use super::portal::{self, PortalOptions};
use super::sessions::require_session;
use super::{UiOptions, asset, pages};
use crate::node::Node;

/// Longest form: a key, or an id and a time.
const MAX_FORM: usize = 16 << 10;

/// The operator's page: everything at `/` and below `/ui`. It acts as admin, so with an admin key it
/// asks to sign in.
///
/// It has no fallback of its own, so that it can be merged with the API's router.
///
/// The portal for the people of applications is beside it, at `/portal`.
pub fn router(node: Node, options: UiOptions) -> Router {
    let portal = PortalOptions { settings: options.portal.clone(), secure: options.secure };
    let portal = portal::routes(node.clone(), portal);
    let page_state = Arc::new(PageState::new(node, options));
    let routes = pages().merge(actions());
    #[cfg(feature = "oidc")]
    let routes = routes.merge(provider());
    routes
        .route_layer(from_fn_with_state(Arc::clone(&page_state), require_session))
        .route_layer(map_response(add_security_headers))
        .layer(DefaultBodyLimit::max(MAX_FORM))
        .with_state(page_state)
        .merge(portal)
}

fn pages() -> Router<Arc<PageState>> {
    Router::new()
        .route("/", get(pages::overview))
        .route("/ui", get(async || Redirect::to("/")))
        .route("/ui/applications", get(pages::applications).post(pages::create_application))
        .route(
            "/ui/applications/{application}",
            get(pages::application).post(pages::rename_application),
        )
        .route(
            "/ui/applications/{application}/endpoints",
            get(pages::new_endpoint).post(pages::create_endpoint),
        )
        .route(
            "/ui/endpoints/{endpoint}/edit",
            get(pages::edit_endpoint).post(pages::change_endpoint),
        )
        .route("/ui/endpoints/{endpoint}", get(pages::endpoint))
        .route("/ui/deliveries", get(pages::deliveries))
        .route("/ui/deliveries/{message}/{endpoint}", get(pages::delivery))
        .route("/ui/dead", get(pages::dead))
        .route("/ui/audit", get(pages::audit))
        .route("/ui/operators", get(pages::operators))
        .route("/ui/keys", get(pages::keys))
        .route("/ui/search", get(pages::search))
        .route("/ui/attempt-rates", get(pages::attempt_rates))
        .route(pages::SIGN_IN, get(pages::sign_in_form))
        .route("/ui/assets/{name}", get(asset::serve))
        .route("/ui/{*rest}", get(pages::missing))
}

/// The way to an identity provider and back.
#[cfg(feature = "oidc")]
fn provider() -> Router<Arc<PageState>> {
    Router::new()
        .route(pages::PROVIDER, get(pages::oidc_start))
        .route("/ui/sign-in/oidc", get(pages::oidc_finish))
}

fn actions() -> Router<Arc<PageState>> {
    Router::new()
        .route(pages::SIGN_IN, post(pages::sign_in))
        .route("/ui/sign-out", post(pages::sign_out))
        .route("/ui/endpoints/{endpoint}/enable", post(pages::enable))
        .route("/ui/endpoints/{endpoint}/disable", post(pages::disable))
        .route("/ui/endpoints/{endpoint}/test", post(pages::test))
        .route("/ui/endpoints/{endpoint}/replay", post(pages::replay_many))
        .route("/ui/deliveries/{message}/{endpoint}/replay", post(pages::replay_one))
        .route("/ui/deliveries/{message}/{endpoint}/cancel", post(pages::cancel))
        .route("/ui/dead/replay", post(pages::replay_all))
        .route("/ui/keys/{key}/delete", post(pages::delete_key))
        .route("/ui/deliveries/retry", post(pages::retry_all))
        .route("/ui/deliveries/{message}/{endpoint}/retry", post(pages::retry_one))
        .route("/ui/endpoints/{endpoint}/retry", post(pages::retry_endpoint))
        .route("/ui/endpoints/{endpoint}/replay-missing", post(pages::replay_missing))
}

/// Nothing but our own files, no inline scripts or styles, no eval, no frames (CSP level 3).
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);

/// Not `no-referrer`: browsers would then hide the origin of our own forms, which [`super::sessions`]
/// looks at (Fetch standard, "append a request Origin header").
const REFERRER: HeaderValue = HeaderValue::from_static("same-origin");

const OPENER: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

const RESOURCE: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// Adds the headers to an answer.
pub(super) async fn add_security_headers(mut response: Response) -> Response {
    put(response.headers_mut());
    response
}

fn put(headers: &mut HeaderMap) {
    headers.insert(CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, REFERRER);
    headers.insert(OPENER, HeaderValue::from_static("same-origin"));
    headers.insert(RESOURCE, HeaderValue::from_static("same-origin"));
}
