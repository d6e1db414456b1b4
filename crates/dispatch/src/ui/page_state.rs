//! The state that every handler needs.

use stagger::{Instant, Span, StdTime};

use super::UiOptions;
use super::sessions::Auth;
use super::view::{Frame, Note, Section};
use crate::node::Node;

/// The dispatcher, and the authentication of its operators.
#[derive(Debug)]
pub(super) struct PageState {
    pub(super) node: Node,
    pub(super) auth: Auth,
}

impl PageState {
    pub(super) fn new(node: Node, options: UiOptions) -> Self {
        Self { node, auth: Auth::new(options) }
    }

    /// The frame of a page at `here`, which is its path with its query.
    pub(super) fn frame(&self, section: Section, here: String, note: Option<Note>) -> Frame {
        Frame::new(present(), section, here, note, !self.auth.is_open())
    }
}

/// The time since the Unix epoch.
pub(super) fn present() -> Instant {
    let since = StdTime::wall().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Instant::ORIGIN + Span::from(since)
}
