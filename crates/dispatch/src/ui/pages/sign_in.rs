//! Signing in and out.

use std::sync::Arc;

use axum::Form;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::header::{RETRY_AFTER, SET_COOKIE};
use http::{HeaderMap, StatusCode};
use serde::Deserialize;

use super::error::PageError;
use super::visit::show;
use crate::ui::page_state::PageState;
use crate::ui::sessions::SignInError;
use crate::ui::view::{Section, SignInPage};

/// The path of the sign-in page.
pub(in crate::ui) const SIGN_IN: &str = "/ui/sign-in";

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
    Form(form): Form<SignInForm>,
) -> Result<Response, PageError> {
    match page_state.auth.sign_in(form.key.trim()) {
        Ok(cookie) => {
            Ok(([(SET_COOKIE, cookie)], Redirect::to(inside(&form.next))).into_response())
        }
        Err(SignInError::Wrong) => {
            let page = ask(&page_state, &form, Some("This is not the admin key.".into()))?;
            Ok((StatusCode::UNAUTHORIZED, page).into_response())
        }
        Err(SignInError::NoToken(error)) => Err(error.into()),
        Err(SignInError::TooMany(wait)) => {
            let secs = wait.as_secs_ceil();
            let page = ask(
                &page_state,
                &form,
                Some(format!("Too many keys were wrong. Try again in {secs} s.")),
            )?;
            let after = [(RETRY_AFTER, secs.to_string())];
            Ok((StatusCode::TOO_MANY_REQUESTS, after, page).into_response())
        }
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
    let mut frame = page_state.frame(Section::Outside, SIGN_IN.into(), None);
    frame.signed_in = false;
    show(&SignInPage { frame, next: inside(&form.next).into(), error })
}

/// A page of ours to go to, whatever was asked for.
fn inside(next: &str) -> &str {
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
