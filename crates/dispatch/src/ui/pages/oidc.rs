//! Signing in at an OpenID Connect provider: away to it, and back.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::header::SET_COOKIE;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;

use super::sign_in::inside;
use super::visit::{PageError, show};
use crate::access::Role;
use crate::oidc::{LASTS, Oidc, OidcError};
use crate::ui::page_state::{PageState, present};
use crate::ui::view::{Frame, Section, SignedInPage};

/// The page that a browser wants after signing in.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::ui) struct Wanted {
    next: String,
}

/// The answer of the provider (OpenID Connect Core 1.0 sections 3.1.2.5 and 3.1.2.6).
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::ui) struct Answer {
    code: String,
    state: String,
    error: String,
}

/// Sends the browser to the provider.
pub(in crate::ui) async fn start(
    State(page_state): State<Arc<PageState>>,
    Query(wanted): Query<Wanted>,
) -> Result<Response, PageError> {
    let started = provider(&page_state)?.start(inside(&wanted.next).to_owned()).await;
    let started = started.map_err(failed)?;
    let cookie = page_state.auth.state_cookie(&started.state, started.lasts);
    Ok(([(SET_COOKIE, cookie)], Redirect::to(&started.url)).into_response())
}

/// Takes the browser back, and signs in.
///
/// The answer is a page that leads on: a redirect would still count as coming from the provider, and browsers would
/// leave the new session out.
pub(in crate::ui) async fn finish(
    State(page_state): State<Arc<PageState>>,
    headers: HeaderMap,
    Query(answer): Query<Answer>,
) -> Result<Response, PageError> {
    if !answer.error.is_empty() {
        return Err(failed(OidcError::Refused("the provider refused to sign in".into())));
    }
    let kept = page_state.auth.kept_state(&headers);
    let finished = provider(&page_state)?.finish(&answer.state, kept, &answer.code).await;
    let (operator, next) = finished.map_err(failed)?;
    tracing::info!(operator = operator.name, role = operator.role.name(), "operator signed in");
    let session = page_state.auth.begin(operator, LASTS)?;
    let frame = Frame::new(present(), Section::Outside, "/".into(), None, Role::Viewer);
    let mut response = show(&SignedInPage { frame, next })?;
    let headers = response.headers_mut();
    headers.append(SET_COOKIE, session);
    headers.append(SET_COOKIE, page_state.auth.state_cookie("", stagger::Span::ZERO));
    Ok(response)
}

fn provider(page_state: &PageState) -> Result<&Oidc, PageError> {
    page_state.oidc.as_ref().ok_or_else(|| PageError::missing("page"))
}

fn failed(error: OidcError) -> PageError {
    let (status, detail) = match error {
        OidcError::Unavailable(why) => {
            tracing::warn!(%why, "OpenID Connect provider not available");
            let detail = "The identity provider does not answer as it should. The log of this node says more. A key \
                          works without it.";
            (StatusCode::BAD_GATEWAY, detail.to_owned())
        }
        OidcError::Refused(why) => {
            tracing::warn!(%why, "sign-in refused");
            let detail = "The answer of the identity provider was refused. Sign in again; the log of this node says why.";
            (StatusCode::FORBIDDEN, detail.to_owned())
        }
        OidcError::NoRole(name) => {
            tracing::warn!(operator = %name, "sign-in refused: no role");
            let detail =
                format!("{name} has no role here: oidc_roles gives none to any of the groups.");
            (StatusCode::FORBIDDEN, detail)
        }
    };
    PageError::not_signed_in(status, detail)
}
