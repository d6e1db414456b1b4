//! Why a page cannot be shown, or something was not done.

use askama::Template;

use super::Frame;

/// The error page.
#[derive(Debug, Template)]
#[template(path = "ui/error.html")]
pub(in crate::ui) struct ErrorPage {
    pub(in crate::ui) frame: Frame,
    pub(in crate::ui) title: &'static str,
    pub(in crate::ui) detail: String,
}
