//! The frame around every page, and the pages that have little else: signing in, an error.

use askama::Template;
use stagger::Instant;

use super::{Moment, Note};
use crate::ui::asset::Assets;

/// The parts that all pages share.
#[derive(Debug)]
pub(in crate::ui) struct Frame {
    /// The time at which the page was made.
    pub(in crate::ui) now: Moment,
    /// The entry of the menu to which it belongs.
    pub(in crate::ui) section: Section,
    /// Its own path and query, to be asked for again.
    pub(in crate::ui) here: String,
    /// The result of the last action.
    pub(in crate::ui) note: Option<Note>,
    /// Whether one can sign out.
    pub(in crate::ui) signed_in: bool,
    pub(in crate::ui) assets: &'static Assets,
    pub(in crate::ui) version: &'static str,
}

impl Frame {
    pub(in crate::ui) fn new(
        now: Instant,
        section: Section,
        here: String,
        note: Option<Note>,
        signed_in: bool,
    ) -> Self {
        let (now, assets) = (Moment::new(now, now), Assets::get());
        Self { now, section, here, note, signed_in, assets, version: env!("CARGO_PKG_VERSION") }
    }

    /// The entries of the menu.
    pub(in crate::ui) fn menu(&self) -> [(&'static str, &'static str, bool); 4] {
        let entry = |path, name, section| (path, name, self.section == section);
        [
            entry("/", "Overview", Section::Overview),
            entry("/ui/applications", "Applications", Section::Applications),
            entry("/ui/deliveries", "Deliveries", Section::Deliveries),
            entry("/ui/dead", "Dead letters", Section::Dead),
        ]
    }
}

/// The entries of the menu, and pages that belong to none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ui) enum Section {
    Overview,
    Applications,
    Deliveries,
    Dead,
    /// Signing in, errors.
    Outside,
}

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

/// The error page.
#[derive(Debug, Template)]
#[template(path = "ui/error.html")]
pub(in crate::ui) struct ErrorPage {
    pub(in crate::ui) frame: Frame,
    pub(in crate::ui) title: &'static str,
    pub(in crate::ui) detail: String,
}
