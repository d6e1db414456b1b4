//! Why a page of the portal cannot be shown, or something was not done.

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::RETRY_AFTER;
use stagger::Span;

use crate::Error;
use crate::access::{Capability, Refusal};
use crate::ui::pages::visit::PageError;

/// Seconds after which to try again when the store is away.
const TRY_AGAIN: u64 = 5;

/// An error, which [the router](super::router) writes as a page of the portal.
#[derive(Clone, Debug)]
pub(super) struct PortalError {
    pub(super) status: StatusCode,
    pub(super) title: &'static str,
    pub(super) detail: String,
    retry_after: Option<u64>,
}

impl PortalError {
    pub(super) fn new(status: StatusCode, title: &'static str, detail: impl Into<String>) -> Self {
        let retry_after = (status == StatusCode::SERVICE_UNAVAILABLE).then_some(TRY_AGAIN);
        Self { status, title, detail: detail.into(), retry_after }
    }

    pub(super) fn missing(what: &str) -> Self {
        let detail = format!("There is no such {what}. It may have been deleted.");
        Self::new(StatusCode::NOT_FOUND, "Not here", detail)
    }

    pub(super) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "That cannot be", detail)
    }

    /// There is no session, or it has ended.
    pub(super) fn no_session() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "Your session has ended",
            "Open the portal again from where you came. Nothing was changed.",
        )
    }

    pub(super) fn not_allowed(needed: Capability) -> Self {
        let detail = match needed {
            Capability::Read => "This is no page of the portal.",
            Capability::Manage => "Your link lets you look, and change nothing.",
        };
        Self::new(StatusCode::FORBIDDEN, "Refused", detail)
    }

    pub(super) fn foreign_form() -> Self {
        let detail = "Another page sent this form, so nothing was changed.";
        Self::new(StatusCode::FORBIDDEN, "Refused", detail)
    }

    pub(super) fn too_many(wait: Span) -> Self {
        let retry_after = Some(wait.as_secs_ceil().max(1));
        let detail = "Too many requests came from this session. Try again in a moment.";
        let error = Self::new(StatusCode::TOO_MANY_REQUESTS, "Slow down", detail);
        Self { retry_after, ..error }
    }
}

impl From<Refusal> for PortalError {
    fn from(refusal: Refusal) -> Self {
        let gone = |detail: &str| Self::new(StatusCode::GONE, "This link is closed", detail);
        match refusal {
            Refusal::Unknown => Self::new(
                StatusCode::UNAUTHORIZED,
                "This link opens nothing",
                "It may be incomplete, or access was withdrawn. Ask for a new one.",
            ),
            Refusal::Expired => gone("Its time is over. Ask for a new one."),
            Refusal::Opened => {
                gone("It was opened before, and opens once only. Ask for a new one.")
            }
            Refusal::Deleted => gone("It was withdrawn. Ask for a new one."),
        }
    }
}

impl From<PageError> for PortalError {
    fn from(error: PageError) -> Self {
        let (status, title, detail) = error.into_parts();
        Self::new(status, title, detail)
    }
}

impl From<Error> for PortalError {
    fn from(error: Error) -> Self {
        let error = Self::from(PageError::from(error));
        match error.status {
            // The words of a store name its address and its files.
            StatusCode::SERVICE_UNAVAILABLE => {
                tracing::warn!(error = %error.detail, "portal request refused with 503");
                let detail = "The service cannot do this at the moment. Try again shortly.";
                Self { detail: detail.into(), ..error }
            }
            _ => error,
        }
    }
}

impl IntoResponse for PortalError {
    fn into_response(self) -> Response {
        let mut response = (self.status, self.title).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        response.extensions_mut().insert(self);
        response
    }
}
