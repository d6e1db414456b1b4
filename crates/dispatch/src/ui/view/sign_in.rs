//! Signing in.

use askama::Template;

use super::Frame;

/// Asks for the admin key.
#[derive(Debug, Template)]
#[template(path = "ui/sign_in.html")]
pub(in crate::ui) struct SignInPage {
    pub(in crate::ui) frame: Frame,
    /// The page to show after signing in.
    pub(in crate::ui) next: String,
    /// Why the last key was not taken.
    pub(in crate::ui) error: Option<String>,
}
