//! First lines of documentation: they name their subject. "Which node leads" is a riddle until it is solved.

use serde::Serialize;

use super::finding::StyleFinding;
use super::source::SourceFile;

/// The words that open a relative clause. `Whether` is the field's word for a boolean.
const OPENINGS: [&str; 7] = ["What", "Who", "Whose", "How", "Where", "Which", "That"];
/// At most so many first lines in a hundred may open so: tower, hyper and tokio have none to two.
const MOST_PERCENT: usize = 3;

/// The first lines of documentation comments.
#[derive(Debug, Default, Serialize)]
pub(super) struct Openings {
    pub(super) first_lines: usize,
    /// The share of those below, in per cent.
    pub(super) relative_percent: f64,
    /// Those that open with a relative clause.
    pub(super) relative: Vec<StyleFinding>,
}

impl Openings {
    /// Reads all sources, tests included: they are read by strangers too.
    pub(super) fn of(sources: &[SourceFile]) -> Self {
        let mut openings = Self::default();
        for source in sources {
            openings.read(source);
        }
        let count = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        let share = count(openings.relative.len()) / count(openings.first_lines.max(1));
        openings.relative_percent = (share * 1_000.0).round() / 10.0;
        openings
    }

    fn read(&mut self, source: &SourceFile) {
        let mut in_comment = false;
        for (line, n) in source.text.lines().zip(1..) {
            let text = documentation(line);
            if let (Some(text), false) = (text, in_comment) {
                self.first_lines += 1;
                if text.split_whitespace().next().is_some_and(|word| OPENINGS.contains(&word)) {
                    self.relative.push(StyleFinding::new(&source.path, n, text));
                }
            }
            in_comment = text.is_some();
        }
    }

    /// All of them, if they are too many.
    pub(super) fn findings(&self) -> Vec<StyleFinding> {
        let too_many = self.relative.len() * 100 > self.first_lines * MOST_PERCENT;
        if too_many { self.relative.clone() } else { Vec::new() }
    }
}

fn documentation(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("/// ").or_else(|| line.strip_prefix("//! "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn openings(text: &str) -> Openings {
        Openings::of(&[
            SourceFile::parse("crates/core/src/a.rs", text).expect("the fixture is valid")
        ])
    }

    #[test]
    fn a_riddle_is_found_and_the_lines_below_a_first_line_are_not() {
        let found =
            openings("/// What is left.\n/// How so.\nfn a() {}\n/// Whether it is.\nfn b() {}\n");
        assert_eq!((found.first_lines, found.relative.len()), (2, 1));
        assert_eq!(found.relative_percent.to_string(), "50");
        assert_eq!(found.findings()[0].what, "What is left.");
    }

    #[test]
    fn three_in_a_hundred_are_let_through() {
        let text = |riddles: usize| {
            let line = |n| if n < riddles { "/// What is.\n" } else { "/// A.\n" };
            (0..100).map(|n| format!("{}fn f{n}() {{}}\n", line(n))).collect::<String>()
        };
        assert!(openings(&text(3)).findings().is_empty());
        assert_eq!(openings(&text(4)).findings().len(), 4);
    }
}
