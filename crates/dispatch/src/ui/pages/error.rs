//! Errors as pages.

use askama::Template;
use axum::response::{Html, IntoResponse, Response};
use http::StatusCode;
use http::header::{CACHE_CONTROL, RETRY_AFTER};

use crate::Error;
use crate::ui::page_state::present;
use crate::ui::view::{ErrorPage, Frame, Section};

/// Seconds after which to try again when the store is away or there is no room.
const TRY_AGAIN: u64 = 5;

/// Why a page cannot be shown, or something was not done.
#[derive(Debug)]
pub(in crate::ui) struct PageError {
    status: StatusCode,
    title: &'static str,
    detail: String,
}

impl PageError {
    pub(super) fn missing(what: &str) -> Self {
        let detail = format!("There is no such {what}. It may have been deleted or pruned.");
        Self { status: StatusCode::NOT_FOUND, title: "Not here", detail }
    }

    pub(super) fn invalid(detail: String) -> Self {
        Self { status: StatusCode::BAD_REQUEST, title: "That cannot be", detail }
    }

    pub(super) fn broken(error: &impl ToString) -> Self {
        let (status, title) = (StatusCode::INTERNAL_SERVER_ERROR, "This page is broken");
        Self { status, title, detail: error.to_string() }
    }
}

impl From<Error> for PageError {
    fn from(error: Error) -> Self {
        let (status, title) = if error.is_not_found() {
            (StatusCode::NOT_FOUND, "Not here")
        } else if error.is_conflict() {
            (StatusCode::CONFLICT, "Not as things stand")
        } else if error.is_invalid() {
            (StatusCode::BAD_REQUEST, "That cannot be")
        } else {
            (StatusCode::SERVICE_UNAVAILABLE, "Not now")
        };
        Self { status, title, detail: error.to_string() }
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let Self { status, title, detail } = self;
        let frame = Frame::new(present(), Section::Outside, "/".into(), None, false);
        let html = ErrorPage { frame, title, detail }.render().unwrap_or_else(|_| title.into());
        let mut response = (status, [(CACHE_CONTROL, "no-store")], Html(html)).into_response();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(RETRY_AFTER, TRY_AGAIN.into());
        }
        response
    }
}

/// A page that is not there.
pub(in crate::ui) async fn missing() -> Response {
    PageError::missing("page").into_response()
}

/// A request that authentication refuses.
pub(in crate::ui) fn refused(why: &str) -> Response {
    let error =
        PageError { status: StatusCode::FORBIDDEN, title: "Refused", detail: why.to_owned() };
    error.into_response()
}
