//! The routes of the page.

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn_with_state, map_response};
use axum::response::Redirect;
use axum::routing::{get, post};

use super::page_state::PageState;
use super::sessions::require_session;
use super::{UiOptions, asset, pages, security_headers};
use crate::node::Node;

/// Longest form: a key, or an id and a time.
const MAX_FORM: usize = 16 << 10;

/// The operator's page: everything at `/` and below `/ui`. It acts as admin, so with an admin key it
/// asks to sign in.
///
/// It has no fallback of its own, so that it can be merged with the API's router.
pub fn router(node: Node, options: UiOptions) -> Router {
    let page_state = Arc::new(PageState::new(node, options));
    pages()
        .merge(actions())
        .route_layer(from_fn_with_state(Arc::clone(&page_state), require_session))
        .route_layer(map_response(security_headers::add))
        .layer(DefaultBodyLimit::max(MAX_FORM))
        .with_state(page_state)
}

fn pages() -> Router<Arc<PageState>> {
    Router::new()
        .route("/", get(pages::overview))
        .route("/ui", get(async || Redirect::to("/")))
        .route("/ui/applications", get(pages::applications))
        .route("/ui/applications/{application}", get(pages::application))
        .route("/ui/endpoints/{endpoint}", get(pages::endpoint))
        .route("/ui/deliveries", get(pages::deliveries))
        .route("/ui/deliveries/{message}/{endpoint}", get(pages::delivery))
        .route("/ui/dead", get(pages::dead))
        .route("/ui/attempt-rates", get(pages::attempt_rates))
        .route(pages::SIGN_IN, get(pages::sign_in_form))
        .route("/ui/assets/{name}", get(asset::serve))
        .route("/ui/{*rest}", get(pages::missing))
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
}
