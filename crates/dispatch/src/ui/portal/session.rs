//! The requests that need a session, and the cookie that holds it.

use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{HeaderName, HeaderValue};
use http::request::Parts;
use http::{HeaderMap, Method};
use stagger::{Clock, Span, StdTime};
use stagger_scheduler::model::ApplicationId;

use super::error::PortalError;
use super::state::PortalState;
use crate::access::{PortalGrant, capability_for};
use crate::ui::page_state::present;
use crate::ui::sessions::{cookie, is_own};

/// The page that opens the portal, and tells how to.
pub(super) const OPEN: &str = "/portal/open";

/// The header that makes htmx load another page, instead of showing the answer in the current one.
const HX_REDIRECT: HeaderName = HeaderName::from_static("hx-redirect");
const HX_REQUEST: &str = "hx-request";

/// Whether the page is shown in a frame (Fetch Metadata, W3C).
const DEST: &str = "sec-fetch-dest";

/// Lets a request through if its session allows it; the table of [rules](crate::access) says so.
pub(super) async fn require_portal(
    State(state): State<Arc<PortalState>>,
    request: Request,
    next: Next,
) -> Response {
    let is_polled = request.headers().contains_key(HX_REQUEST);
    let (head, body) = request.into_parts();
    let admitted = admit(&state, &head).await;
    let mut request = Request::from_parts(head, body);
    let grant = match admitted {
        Ok(grant) => grant,
        Err(error) if is_polled => {
            return ([(HX_REDIRECT, HeaderValue::from_static(OPEN))], error).into_response();
        }
        Err(error) => return error.into_response(),
    };
    let change = (*request.method() == Method::POST)
        .then(|| format!("{} {}", request.method(), request.uri().path()));
    request.extensions_mut().insert(grant);
    let response = next.run(request).await;
    let status = response.status();
    if let Some(action) = change.filter(|_| status.is_success() || status.is_redirection()) {
        let actor = format!("portal of {}", grant.application);
        state.node.record(present(), actor, action, grant.link.to_string()).await;
    }
    response
}

async fn admit(state: &PortalState, head: &Parts) -> Result<PortalGrant, PortalError> {
    let (headers, method) = (&head.headers, &head.method);
    if !is_own(method, headers) {
        return Err(PortalError::foreign_form());
    }
    let path = head.extensions.get::<MatchedPath>();
    let needed = path.and_then(|path| capability_for(method, path.as_str()));
    let token = cookie(headers, cookie_name(state.secure)).ok_or_else(PortalError::no_session)?;
    // Another node may have ended it a moment ago.
    state.node.sync_settings().await?;
    let session = state.node.portal_session(token, present());
    let grant = session.map_err(|_| PortalError::no_session())?;
    if application_of(head.uri.path()) != Some(grant.application) {
        return Err(PortalError::no_session());
    }
    state.limits.take(grant.link, StdTime.recent()).map_err(PortalError::too_many)?;
    match needed {
        Some(needed) if grant.capability >= needed => Ok(grant),
        Some(needed) => Err(PortalError::not_allowed(needed)),
        None => Err(PortalError::missing("page")),
    }
}

/// The application that a path names.
fn application_of(path: &str) -> Option<ApplicationId> {
    path.strip_prefix("/portal/")?.split('/').next()?.parse().ok()
}

/// The cookie of a session. It goes to the pages of its application only.
///
/// In a frame of another site browsers send it only if it says so (`None`), and keep it apart for each site around the
/// frame (`Partitioned`, CHIPS). Both take TLS.
pub(super) fn session_cookie(
    secure: bool,
    headers: &HeaderMap,
    application: ApplicationId,
    token: &str,
    lasts: Span,
) -> HeaderValue {
    let (name, age) = (cookie_name(secure), lasts.as_secs_ceil());
    let framed = headers.get(DEST).is_some_and(|dest| dest == "iframe" || dest == "frame");
    let scope = match (secure, framed) {
        (true, true) => "SameSite=None; Secure; Partitioned",
        (true, false) => "SameSite=Lax; Secure",
        (false, _) => "SameSite=Lax",
    };
    let text =
        format!("{name}={token}; Path=/portal/{application}; Max-Age={age}; HttpOnly; {scope}");
    HeaderValue::try_from(text).expect("names, digits and base64 letters are visible")
}

/// The prefix makes browsers refuse it without TLS (RFC 6265bis section 4.1.3.1).
const fn cookie_name(secure: bool) -> &'static str {
    if secure { "__Secure-stagger-portal" } else { "stagger-portal" }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn set(secure: bool, dest: &str) -> String {
        let headers =
            HeaderMap::from_iter([(HeaderName::from_static(DEST), dest.parse().unwrap())]);
        let application = ApplicationId::from_uuid(Uuid::from_u128(1));
        let lasts = Span::from_millis(59_001);
        let value = session_cookie(secure, &headers, application, "ps_x", lasts);
        value.to_str().unwrap().to_owned()
    }

    #[test]
    fn the_cookie_was_sent_elsewhere_or_from_other_sites() {
        let path = format!("Path=/portal/app_{}1; Max-Age=60; HttpOnly;", "0".repeat(31));
        for (secure, dest, ends) in [
            (false, "document", "SameSite=Lax"),
            (false, "iframe", "SameSite=Lax"),
            (true, "document", "SameSite=Lax; Secure"),
            (true, "iframe", "SameSite=None; Secure; Partitioned"),
        ] {
            let text = set(secure, dest);
            assert!(text.contains(&path) && text.ends_with(ends), "{text}");
            assert_eq!(text.starts_with("__Secure-stagger-portal=ps_x; "), secure, "{text}");
        }
    }

    #[test]
    fn a_path_names_one_application() {
        let id = "app_0190163d8694739b84f6b0d3ccc3a5a1";
        let named = |path: &str| application_of(path).map(|id| id.to_string());
        for path in [format!("/portal/{id}"), format!("/portal/{id}/deliveries")] {
            assert_eq!(named(&path).as_deref(), Some(id));
        }
        for path in ["/portal/open", "/portal/", "/ui/x", "/portal/app_1"] {
            assert_eq!(named(path), None, "{path}");
        }
    }
}
