//! The table of contents, in the form of mdBook's SUMMARY.md.

use std::fmt;

/// One line of the table of contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// The title of the chapters that follow.
    Part(String),
    /// A page.
    Chapter(Chapter),
}

/// A page of the book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chapter {
    pub(super) title: String,
    /// The path of its text below docs/.
    pub(super) path: String,
}

impl Chapter {
    /// The path of the page in the site.
    pub(super) fn html(&self) -> String {
        format!("{}.html", self.path.trim_end_matches(".md"))
    }
}

/// A line that is no title, no chapter and not blank.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BadLine(usize, String);

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(number, line) = self;
        write!(f, "docs/SUMMARY.md:{number}: `{line}` must be `# Title` or `- [Title](page.md)`")
    }
}

impl std::error::Error for BadLine {}

/// Reads a table of contents. Its first title is that of the table itself.
pub(super) fn parse(text: &str) -> Result<Vec<Entry>, BadLine> {
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    let parsed = lines.map(|(line, number)| {
        entry(line.trim()).ok_or_else(|| BadLine(number, line.trim().to_owned()))
    });
    let entries: Vec<Entry> = parsed.collect::<Result<_, _>>()?;
    Ok(match &entries[..] {
        [Entry::Part(_), rest @ ..] => rest.to_vec(),
        all => all.to_vec(),
    })
}

fn entry(line: &str) -> Option<Entry> {
    if let Some(title) = line.strip_prefix("# ") {
        return Some(Entry::Part(title.to_owned()));
    }
    let link = line.strip_prefix("- ").unwrap_or(line).strip_prefix('[')?.strip_suffix(')')?;
    let (title, path) = link.split_once("](")?;
    let is_page = path.ends_with(".md") && !title.is_empty();
    is_page.then(|| Entry::Chapter(Chapter { title: title.to_owned(), path: path.to_owned() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_and_chapters_are_read_in_their_order() {
        let text =
            "# Summary\n\n[Start](README.md)\n\n# Guides\n\n- [One](a/b.md)\n  - [Two](c.md)\n";
        let chapter = |title: &str, path: &str| {
            Entry::Chapter(Chapter { title: title.to_owned(), path: path.to_owned() })
        };
        let wanted = [
            chapter("Start", "README.md"),
            Entry::Part("Guides".to_owned()),
            chapter("One", "a/b.md"),
            chapter("Two", "c.md"),
        ];
        assert_eq!(parse(text).expect("it is valid"), wanted);
    }

    #[test]
    fn a_line_of_another_form_is_named_with_its_number() {
        let refused = parse("# Summary\n\n- [One](a.txt)\n").expect_err("no page");
        assert_eq!(refused, BadLine(3, "- [One](a.txt)".to_owned()));
        assert!(parse("one.md").is_err());
    }
}
