//! A part of a text as it is shown: the place, the lines, and what is wrong below them.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Renderer, Snippet};

pub use annotate_snippets::Level;

use super::flaw::Flaw;
use crate::char_boundary;

/// Lines are not cut to a terminal: a log of CI has no width, and a cut line cannot be copied.
const WIDTH: usize = 1_000;

/// A text with the name that messages have for it.
#[derive(Clone, Copy, Debug)]
pub struct SourceText<'s> {
    /// Its name.
    pub file: &'s str,
    /// All of it.
    pub text: &'s str,
}

/// Something to be said about a part of a text.
#[derive(Debug)]
pub struct Excerpt<'s> {
    /// The word before the message: error, warning.
    pub level: Level<'s>,
    /// The code of the message, for programs and for searches.
    pub code: Option<&'s str>,
    /// What is wrong.
    pub message: &'s str,
    /// The bytes that are marked.
    pub at: Range<usize>,
    /// What to do.
    pub help: Option<&'s str>,
    /// Something to know beside it.
    pub note: Option<&'s str>,
}

impl Excerpt<'_> {
    /// The message, the place, and the lines with the place marked.
    #[must_use]
    pub fn show(&self, source: SourceText<'_>, colours: bool) -> String {
        let marked = AnnotationKind::Primary.span(within(source.text, &self.at));
        let snippet = Snippet::source(source.text).path(source.file).annotation(marked);
        let mut title = self.level.clone().primary_title(self.message);
        if let Some(code) = self.code {
            title = title.id(code);
        }
        let mut group = title.element(snippet);
        if let Some(help) = self.help {
            group = group.element(Level::HELP.message(help));
        }
        if let Some(note) = self.note {
            group = group.element(Level::NOTE.message(note));
        }
        let renderer = if colours { Renderer::styled() } else { Renderer::plain() };
        renderer.term_width(WIDTH).render(&[group])
    }
}

impl Flaw {
    /// The message, the place and the line itself with the place marked.
    #[must_use]
    pub fn show(&self, file: &str, text: &str, colours: bool) -> String {
        let excerpt = Excerpt {
            level: Level::ERROR,
            code: None,
            message: self.message(),
            at: self.at().clone(),
            help: None,
            note: None,
        };
        excerpt.show(SourceText { file, text }, colours)
    }
}

/// The place within the text, and within one line: the first of many is enough to find it.
fn within(text: &str, at: &Range<usize>) -> Range<usize> {
    let start = char_boundary(text, at.start);
    let line = text[start..].find('\n').map_or(text.len(), |length| start + length);
    let end = char_boundary(text, at.end).min(line).max(start);
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::position;

    #[test]
    fn the_line_is_shown_with_what_is_wrong_in_it() {
        let text = "[server]\n\tworkers = -1 # all\n";
        let flaw = Flaw::new(20..22, "server.workers = -1: must be from 1 to 9");
        assert_eq!(
            flaw.show("s.toml", text, false),
            "error: server.workers = -1: must be from 1 to 9\n --> s.toml:2:12\n  |\n\
             2 |     workers = -1 # all\n  |               ^^"
        );
    }

    #[test]
    fn the_place_that_is_shown_is_the_place_that_is_counted() {
        let text = "[a]\n\tb = 'é'; c = 1\n";
        for at in [0, 5, text.find("c =").expect("there")] {
            let (line, column) = position(text, at);
            let shown = Flaw::new(at..at + 1, "no").show("s.toml", text, false);
            assert!(shown.contains(&format!("s.toml:{line}:{column}\n")), "{shown}");
        }
    }

    #[test]
    fn places_outside_of_the_text_are_no_panic() {
        for at in [0..0, 5..5, 9..100, 100..200] {
            assert!(Flaw::new(at, "no").show("s.toml", "a\nbcd\né", false).contains("s.toml:"));
        }
    }
}
