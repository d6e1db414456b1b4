//! A mistake in a file, and its place.

use std::io;
use std::ops::Range;

use annotate_snippets::Level;

use super::excerpt::{Excerpt, SourceText};
use crate::terminal;

/// A mistake, with the bytes of the text that it lies in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flaw {
    at: Range<usize>,
    message: String,
}

impl Flaw {
    pub(crate) fn new(at: Range<usize>, message: impl Into<String>) -> Self {
        Self { at, message: message.into() }
    }

    /// The mistake, without its place.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The bytes of the text that it lies in.
    pub(crate) const fn at(&self) -> &Range<usize> {
        &self.at
    }

    /// The message, the place and the line itself with the place marked, for standard error.
    pub(crate) fn show(&self, file: &str, text: &str) -> String {
        self.excerpt().show(SourceText { file, text }, terminal::has_colours(&io::stderr()))
    }

    fn excerpt(&self) -> Excerpt<'_> {
        Excerpt {
            level: Level::ERROR,
            code: None,
            message: &self.message,
            at: self.at.clone(),
            help: None,
            note: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_shown_with_what_is_wrong_in_it() {
        let text = "[server]\n\tworkers = -1 # all\n";
        let flaw = Flaw::new(20..22, "server.workers = -1: must be from 1 to 9");
        let shown = flaw.excerpt().show(SourceText { file: "s.toml", text }, false);
        assert_eq!(
            shown,
            "error: server.workers = -1: must be from 1 to 9\n --> s.toml:2:12\n  |\n\
             2 |     workers = -1 # all\n  |               ^^"
        );
    }

    #[test]
    fn places_outside_of_the_text_are_no_panic() {
        for at in [0..0, 5..5, 9..100, 100..200] {
            assert!(Flaw::new(at, "no").show("s.toml", "a\nbcd\né").contains("s.toml:"));
        }
    }
}
