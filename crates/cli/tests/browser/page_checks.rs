//! Checks of a page in a browser that the pages of all commands share.

use std::fs;
use std::path::PathBuf;

/// The tables that do not fit into their frames.
pub(crate) const SCROLLED: &str = "[...document.querySelectorAll('.scroll')]
    .filter((e) => e.scrollWidth > e.clientWidth)
    .map((e) => [e.querySelector('caption').textContent, e.scrollWidth, e.clientWidth])";

/// Frames that scroll and cannot be reached by key, or have no name for a reader of screens.
pub(crate) const UNREACHED: &str = "[...document.querySelectorAll('.scroll')]
    .filter((e) => e.tabIndex !== 0 || !e.getAttribute('aria-label'))
    .map((e) => e.outerHTML.slice(0, 120))";

/// A profile of the browser and the pages, deleted with this.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
