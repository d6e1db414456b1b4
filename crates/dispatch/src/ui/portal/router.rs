//! The routes of the portal, and the headers of every reply.

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderMap, StatusCode};

use super::error::PortalError;
use super::session::{OPEN, require_portal};
use super::state::PortalState;
use super::view::PortalErrorPage;
use super::{actions, deliveries, endpoints, event_types, open, settings};
use crate::config::PortalSettings;
use crate::node::Node;
use crate::ui::pages::visit::show;

/// Longest form: the settings of an endpoint.
const MAX_FORM: usize = 32 << 10;

/// The look of the portal, and how browsers come to it.
#[derive(Clone, Debug)]
pub(in crate::ui) struct PortalOptions {
    pub(in crate::ui) settings: PortalSettings,
    /// Whether browsers come over TLS.
    pub(in crate::ui) secure: bool,
}

/// The portal: everything below `/portal`.
pub(in crate::ui) fn routes(node: Node, options: PortalOptions) -> Router {
    let policy = policy(&options.settings);
    let framed = !options.settings.frame_ancestors.is_empty();
    let state = Arc::new(PortalState::new(node, options.settings, options.secure));
    let shown = ShownAs { state: Arc::clone(&state), policy, framed };
    sessions()
        .route_layer(from_fn_with_state(Arc::clone(&state), require_portal))
        .route(OPEN, get(open::open_page).post(open::open))
        .route("/portal/assets/{name}", get(serve_asset))
        .route_layer(from_fn_with_state(shown, finish))
        .layer(DefaultBodyLimit::max(MAX_FORM))
        .with_state(state)
}

/// The routes that take a session.
fn sessions() -> Router<Arc<PortalState>> {
    Router::new()
        .route("/portal/{app}", get(endpoints::home))
        .route("/portal/{app}/leave", post(open::leave))
        .route("/portal/{app}/deliveries", get(deliveries::deliveries))
        .route("/portal/{app}/event-types", get(event_types::event_types))
        .route("/portal/{app}/deliveries/{msg}/{ep}", get(deliveries::delivery))
        .route("/portal/{app}/deliveries/{msg}/{ep}/retry", post(actions::retry_one))
        .route("/portal/{app}/deliveries/{msg}/{ep}/replay", post(actions::replay_one))
        .route(
            "/portal/{app}/endpoints/new",
            get(settings::new_endpoint).post(settings::create_endpoint),
        )
        .route("/portal/{app}/endpoints/{ep}", get(endpoints::endpoint))
        .route(
            "/portal/{app}/endpoints/{ep}/edit",
            get(settings::edit_endpoint).post(settings::change_endpoint),
        )
        .route(
            "/portal/{app}/endpoints/{ep}/secret",
            get(endpoints::secret).post(endpoints::replace_secret),
        )
        .route("/portal/{app}/endpoints/{ep}/enable", post(actions::enable))
        .route("/portal/{app}/endpoints/{ep}/disable", post(actions::disable))
        .route("/portal/{app}/endpoints/{ep}/test", post(actions::test))
        .route("/portal/{app}/endpoints/{ep}/retry", post(actions::retry_endpoint))
        .route("/portal/{app}/endpoints/{ep}/replay", post(actions::replay_endpoint))
        .route("/portal/{app}/endpoints/{ep}/replay-missing", post(actions::replay_missing))
        .route("/portal/{app}/endpoints/{ep}/delete", post(settings::delete_endpoint))
        .route("/portal/{app}/{*rest}", get(missing))
}

async fn missing() -> PortalError {
    PortalError::missing("page")
}

async fn serve_asset(
    State(state): State<Arc<PortalState>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Response {
    match state.assets.by_name(&name) {
        Some(asset) => asset.answer(&headers),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// The headers of every reply, and the look of errors.
#[derive(Clone, Debug)]
struct ShownAs {
    state: Arc<PortalState>,
    policy: HeaderValue,
    framed: bool,
}

/// Writes an error as a page, and adds the headers.
async fn finish(State(shown): State<ShownAs>, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    if let Some(error) = response.extensions_mut().remove::<PortalError>() {
        let (status, heading, detail) = (error.status, error.title, error.detail);
        let page = PortalErrorPage { frame: shown.state.frame(), heading, detail };
        if let Ok(page) = show(&page) {
            let (head, _) = response.into_parts();
            let mut page = page;
            for (name, value) in &head.headers {
                page.headers_mut().entry(name).or_insert_with(|| value.clone());
            }
            *page.status_mut() = status;
            response = page;
        }
    }
    let headers = response.headers_mut();
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.insert(CONTENT_SECURITY_POLICY, shown.policy);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Not `no-referrer`: browsers would then hide the origin of the portal's own forms.
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(OPENER, HeaderValue::from_static("same-origin"));
    headers.insert(RESOURCE, HeaderValue::from_static("same-origin"));
    if !shown.framed {
        headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    }
    response
}

const OPENER: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

const RESOURCE: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// Nothing but our own files and the logo, and frames in the pages that are allowed (CSP level 3).
fn policy(settings: &PortalSettings) -> HeaderValue {
    let logo = settings.logo_url.as_deref().and_then(|url| url::Url::parse(url).ok());
    let logo = logo.map_or(String::new(), |url| format!(" {}", url.origin().ascii_serialization()));
    let ancestors = match &settings.frame_ancestors[..] {
        [] => "'none'".to_owned(),
        origins => origins.join(" "),
    };
    let text = format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:{logo}; \
         connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors {ancestors}"
    );
    HeaderValue::try_from(text).expect("origins are visible ASCII")
}
