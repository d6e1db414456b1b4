//! Every request passes here first.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use http::header::HeaderName;
use http::{HeaderMap, StatusCode, Uri};

use super::origin::{is_local, is_own};
use crate::ui::asset;
use crate::ui::page_state::PageState;
use crate::ui::pages::{SIGN_IN, refused};

/// The header that makes htmx load another page, instead of showing the answer in the current one.
const HX_REDIRECT: HeaderName = HeaderName::from_static("hx-redirect");
const HX_REQUEST: &str = "hx-request";

/// Lets a request through, or sends its sender to sign in.
pub(in crate::ui) async fn require_session(
    State(page_state): State<Arc<PageState>>,
    request: Request,
    next: Next,
) -> Response {
    let (headers, path) = (request.headers(), request.uri().path());
    if page_state.auth.is_open() && !is_local(headers) {
        return refused(
            "This page is available on this machine only. Set an admin key to use it \
            under another name.",
        );
    }
    if !is_own(request.method(), headers) {
        return refused("Another page sent this form, so nothing was changed.");
    }
    let public = path == SIGN_IN || path.starts_with(asset::FOLDER);
    if !public && !page_state.auth.admits(headers) {
        return to_sign_in(headers, request.uri());
    }
    if !public {
        // Without a store the page shows the state in memory, and reports what it cannot read.
        page_state.node.sync_settings().await.ok();
    }
    next.run(request).await
}

fn to_sign_in(headers: &HeaderMap, uri: &Uri) -> Response {
    if headers.contains_key(HX_REQUEST) {
        return (StatusCode::UNAUTHORIZED, [(HX_REDIRECT, SIGN_IN)]).into_response();
    }
    let wanted = uri.path_and_query().map_or("/", |wanted| wanted.as_str());
    let query =
        url::form_urlencoded::Serializer::new(String::new()).append_pair("next", wanted).finish();
    Redirect::to(&format!("{SIGN_IN}?{query}")).into_response()
}
