//! Signing in and out.

use std::sync::Arc;

use axum::Form;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::header::SET_COOKIE;
use http::{Extensions, HeaderMap, StatusCode};
use serde::Deserialize;

use super::visit::{PageError, show, with_query};
use crate::access::Role;
use crate::ui::page_state::{PageState, present};
use crate::ui::sessions::SignInError;
use crate::ui::view::{Frame, Section, SignInPage};

/// The path of the sign-in page.
pub(in crate::ui) const SIGN_IN: &str = "/ui/sign-in";

/// The path that leads to the identity provider.
pub(in crate::ui) const PROVIDER: &str = "/ui/sign-in/oidc/start";

/// The form, as it comes.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::ui) struct SignInForm {
    key: String,
    next: String,
}

/// Asks for the key.
pub(in crate::ui) async fn sign_in_form(
    State(page_state): State<Arc<PageState>>,
    Query(form): Query<SignInForm>,
) -> Result<Response, PageError> {
    if page_state.auth.is_open() {
        return Ok(Redirect::to("/").into_response());
    }
    ask(&page_state, &form, None)
}

/// Checks the key, and redirects to the requested page.
pub(in crate::ui) async fn sign_in(
    State(page_state): State<Arc<PageState>>,
    extensions: Extensions,
    Form(form): Form<SignInForm>,
) -> Result<Response, PageError> {
    match page_state.auth.sign_in(form.key.trim()) {
        Ok(cookie) => {
            Ok(([(SET_COOKIE, cookie)], Redirect::to(inside(&form.next))).into_response())
        }
        Err(SignInError::Wrong) => {
            page_state.wrong_keys.note(&extensions, "page").await;
            let page = ask(&page_state, &form, Some("This key is unknown.".into()))?;
            Ok((StatusCode::UNAUTHORIZED, page).into_response())
        }
        Err(SignInError::NoToken(error)) => Err(error.into()),
    }
}

/// Ends the session.
pub(in crate::ui) async fn sign_out(
    State(page_state): State<Arc<PageState>>,
    headers: HeaderMap,
) -> impl IntoResponse {
    ([(SET_COOKIE, page_state.auth.sign_out(&headers))], Redirect::to(SIGN_IN))
}

fn ask(
    page_state: &PageState,
    form: &SignInForm,
    error: Option<String>,
) -> Result<Response, PageError> {
    let frame = Frame::new(present(), Section::Outside, SIGN_IN.into(), None, Role::Viewer);
    let next = inside(&form.next).to_owned();
    let provider = page_state.has_provider.then(|| with_query(PROVIDER, [("next", &next)]));
    show(&SignInPage { frame, next, provider, error })
}

/// A page of ours to go to, whatever was asked for.
pub(super) fn inside(next: &str) -> &str {
    let plain = next.bytes().all(|b| b.is_ascii_graphic() && b != b'\\');
    let ours = next.starts_with("/ui/") || next.starts_with("/?");
    if plain && ours && !next.starts_with(SIGN_IN) { next } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signing_in_leads_to_no_foreign_page() {
        assert_eq!(inside("/ui/dead?endpoint=ep_1"), "/ui/dead?endpoint=ep_1");
        for next in ["//evil.example", "https://evil.example", "/\\evil", "", "/ui/a\r\nb", SIGN_IN]
        {
            assert_eq!(inside(next), "/", "{next:?}");
        }
    }
}
