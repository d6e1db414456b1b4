//! The page of the API keys.

use askama::Template;

use super::{Frame, Moment};

/// All API keys.
#[derive(Debug, Template)]
#[template(path = "ui/keys.html")]
pub(in crate::ui) struct KeysPage {
    pub(in crate::ui) frame: Frame,
    pub(in crate::ui) keys: Vec<KeyLine>,
}

/// One API key.
#[derive(Clone, Debug)]
pub(in crate::ui) struct KeyLine {
    pub(in crate::ui) id: String,
    pub(in crate::ui) name: String,
    pub(in crate::ui) scopes: Vec<&'static str>,
    /// The name of the only application that it gives access to.
    pub(in crate::ui) application: Option<String>,
    pub(in crate::ui) has_expired: bool,
    pub(in crate::ui) expires: Option<Moment>,
    /// The day of the last use.
    pub(in crate::ui) last_used: Option<String>,
}
