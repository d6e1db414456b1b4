//! Why a page cannot be shown, or something was not done.

use askama::Template;

use super::Frame;

/// What went wrong.
#[derive(Debug, Template)]
#[template(path = "ui/trouble.html")]
pub(in crate::ui) struct TroublePage {
    pub(in crate::ui) frame: Frame,
    pub(in crate::ui) title: &'static str,
    pub(in crate::ui) detail: String,
}
