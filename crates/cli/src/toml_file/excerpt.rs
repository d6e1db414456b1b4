//! A part of a text as it is shown: the place, the lines, and what is wrong below them.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use stagger_text::char_boundary;

/// Lines are not cut to a terminal: a log of CI has no width, and a cut line cannot be copied.
const WIDTH: usize = 1_000;

/// A text with the name that messages have for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SourceText<'s> {
    pub(crate) file: &'s str,
    pub(crate) text: &'s str,
}

/// Something to be said about a part of a text.
#[derive(Debug)]
pub(crate) struct Excerpt<'s> {
    pub(crate) level: Level<'s>,
    pub(crate) code: Option<&'s str>,
    pub(crate) message: &'s str,
    pub(crate) at: Range<usize>,
    pub(crate) help: Option<&'s str>,
    pub(crate) note: Option<&'s str>,
}

impl Excerpt<'_> {
    /// The message, the place, and the lines with the place marked.
    pub(crate) fn show(&self, source: SourceText<'_>, colours: bool) -> String {
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

/// The place within the text, and within one line: the first of many is enough to find it.
fn within(text: &str, at: &Range<usize>) -> Range<usize> {
    let start = char_boundary(text, at.start);
    let line = text[start..].find('\n').map_or(text.len(), |length| start + length);
    let end = char_boundary(text, at.end).min(line).max(start);
    start..end
}

#[cfg(test)]
mod tests {
    use stagger_text::position;

    use super::*;

    #[test]
    fn the_place_that_is_shown_is_the_place_that_is_counted() {
        let text = "[a]\n\tb = 'é'; c = 1\n";
        for at in [0, 5, text.find("c =").expect("there")] {
            let excerpt = Excerpt {
                level: Level::ERROR,
                code: None,
                message: "no",
                at: at..at + 1,
                help: None,
                note: None,
            };
            let (line, column) = position(text, at);
            let shown = excerpt.show(SourceText { file: "s.toml", text }, false);
            assert!(shown.contains(&format!("s.toml:{line}:{column}\n")), "{shown}");
        }
    }
}
