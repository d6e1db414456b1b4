//! What is wrong with a file, and where.

use std::ops::Range;

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

    /// What is wrong, without where.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The message, the place and the line itself with the place marked.
    pub(crate) fn show(&self, file: &str, text: &str) -> String {
        let before = text.get(..self.at.start).unwrap_or(text);
        let number = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = text[start..].lines().next().unwrap_or_default();
        let column = before[start..].chars().count();
        let end = self.at.end.min(start + line.len()).max(self.at.start);
        let marked = text.get(self.at.start..end).map_or(1, |part| part.chars().count().max(1));
        let gutter = " ".repeat(number.to_string().len());
        // Tabs stay tabs, so that the carets stand below what they mark.
        let indent: String = line.chars().take(column).map(blank).collect();
        format!(
            "error: {}\n{gutter}--> {file}:{number}:{}\n{gutter} |\n{number} | {line}\n{gutter} | {indent}{}",
            self.message,
            column + 1,
            "^".repeat(marked),
        )
    }
}

const fn blank(c: char) -> char {
    if c == '\t' { '\t' } else { ' ' }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_shown_with_what_is_wrong_in_it() {
        let text = "[server]\n\tworkers = -1 # all\n";
        let flaw = Flaw::new(20..22, "server.workers = -1: must be from 1 to 9");
        assert_eq!(
            flaw.show("s.toml", text),
            "error: server.workers = -1: must be from 1 to 9\n --> s.toml:2:12\n  |\n\
             2 | \tworkers = -1 # all\n  | \t          ^^"
        );
    }

    #[test]
    fn places_outside_of_the_text_are_no_panic() {
        for at in [0..0, 5..5, 9..100, 100..200] {
            assert!(Flaw::new(at, "no").show("s.toml", "a\nbcd\né").contains("s.toml:"));
        }
    }
}
