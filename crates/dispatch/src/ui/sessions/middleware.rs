//! The requests that need a session, and the origins they may come from.

use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use http::header::{HOST, HeaderName, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, Method, StatusCode, Uri};

use crate::access::{Operator, Role, rule};
use crate::ui::asset;
use crate::ui::page_state::{PageState, present};
use crate::ui::pages::{SIGN_IN, refused};

/// The header that makes htmx load another page, instead of showing the answer in the current one.
const HX_REDIRECT: HeaderName = HeaderName::from_static("hx-redirect");
const HX_REQUEST: &str = "hx-request";

/// Lets a request through, or sends its sender to sign in.
pub(in crate::ui) async fn require_session(
    State(page_state): State<Arc<PageState>>,
    mut request: Request,
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
    let signs_in =
        path.strip_prefix(SIGN_IN).is_some_and(|rest| ["", "/oidc", "/oidc/start"].contains(&rest));
    if signs_in || path.starts_with(asset::FOLDER) {
        return next.run(request).await;
    }
    let Some(operator) = page_state.auth.operator(headers) else {
        return to_sign_in(headers, request.uri());
    };
    if let Some(refused) = refusal(&operator, &request) {
        return refused;
    }
    // Without a store the page shows the state in memory, and reports what it cannot read.
    page_state.node.sync_settings().await.ok();
    let change = (request.method() == Method::POST)
        .then(|| format!("{} {}", request.method(), request.uri().path()));
    let actor = format!("{} on the page", operator.name);
    request.extensions_mut().insert(operator);
    let response = next.run(request).await;
    let status = response.status();
    if let Some(action) = change.filter(|_| status.is_success() || status.is_redirection()) {
        page_state.node.record(present(), actor, action, String::new()).await;
    }
    response
}

/// The answer to a request that the operator's role may not make; the table of [rules](crate::access) says so. A route
/// that is not in the table is the admin's.
fn refusal(operator: &Operator, request: &Request) -> Option<Response> {
    let path = request.extensions().get::<MatchedPath>();
    let rule = path.and_then(|path| rule(request.method(), path.as_str()));
    let needed = rule.map_or(Role::Admin, |rule| rule.role);
    if operator.role >= needed {
        return None;
    }
    let (name, role) = (&operator.name, operator.role);
    Some(refused(&format!("{name} has the role {role}. This takes the role {needed}.")))
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

/// The header with which browsers tell the origin of a request (Fetch Metadata, W3C).
const SITE: &str = "sec-fetch-site";

/// Whether a request may change something: it reads only, or our own page has sent it.
///
/// Browsers name the origin of every POST, and over TLS or to this machine its site too. A request
/// that names neither comes from no browser that is young enough; programs have the API.
pub(in crate::ui) fn is_own(method: &Method, headers: &HeaderMap) -> bool {
    if matches!(*method, Method::GET | Method::HEAD) {
        return true;
    }
    match (text(headers, SITE), text(headers, ORIGIN.as_str())) {
        (Some(site), _) => matches!(site, "same-origin" | "none"),
        (None, Some(origin)) => is_origin_of_host(origin, headers),
        (None, None) => false,
    }
}

/// Whether the host name of the request is one of this machine: another name that resolves to this
/// machine gets nothing (DNS rebinding).
pub(super) fn is_local(headers: &HeaderMap) -> bool {
    let host = text(headers, HOST.as_str()).and_then(|host| host.parse::<Authority>().ok());
    host.is_some_and(|host| match host.host().trim_matches(['[', ']']).parse() {
        Ok(address) => std::net::IpAddr::is_loopback(&address),
        Err(_) => host.host().eq_ignore_ascii_case("localhost"),
    })
}

fn is_origin_of_host(origin: &str, headers: &HeaderMap) -> bool {
    let authority = origin.split_once("://").map(|(_, authority)| authority);
    authority.is_some() && authority == text(headers, HOST.as_str())
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn a_post_from_a_foreign_page_is_not_our_own() {
        let own = |pairs: &[(&'static str, &str)]| is_own(&Method::POST, &headers(pairs));
        assert!(own(&[("sec-fetch-site", "same-origin")]));
        assert!(own(&[("origin", "http://a.example:8080"), ("host", "a.example:8080")]));
        assert!(!own(&[("sec-fetch-site", "cross-site"), ("origin", "http://b"), ("host", "b")]));
        assert!(!own(&[("sec-fetch-site", "same-site")]));
        assert!(!own(&[("origin", "http://a.example:9090"), ("host", "a.example:8080")]));
        assert!(!own(&[("origin", "null"), ("host", "a.example")]));
        assert!(!own(&[("host", "a.example")]));
        assert!(is_own(&Method::GET, &headers(&[("sec-fetch-site", "cross-site")])));
    }

    #[test]
    fn foreign_names_of_this_machine_are_not_local() {
        for host in ["localhost", "LOCALHOST:8080", "127.0.0.1:80", "127.9.9.9", "[::1]:8080"] {
            assert!(is_local(&headers(&[("host", host)])), "{host}");
        }
        for host in ["rebound.example:8080", "localhost.example", "10.0.0.1", "0.0.0.0", "[::2]"] {
            assert!(!is_local(&headers(&[("host", host)])), "{host}");
        }
        assert!(!is_local(&HeaderMap::new()));
    }
}
