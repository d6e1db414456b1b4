//! The map in ARCHITECTURE.md: a line a file or folder, each the first sentence of its own documentation.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;

use super::mod_lines::Tree;
use super::source::{SourceFile, StyleFinding};
use super::uses::roots;
use xtask_workbench::Workspace;

const PAGE: &str = "ARCHITECTURE.md";
/// The lines around the map; what is between them is written by this program.
const BEGIN: &str = "<!-- map: cargo xtask map -->";
const END: &str = "<!-- end of map -->";
/// The column in which sentences begin.
const COLUMN: usize = 28;

/// Writes the map; always good.
pub(crate) fn write() -> Result<bool, Box<dyn Error>> {
    let root = Workspace::load()?.workspace_root;
    let tree = Tree::read(&root)?;
    let path = root.join(PAGE);
    let page = fs::read_to_string(&path)?;
    let (before, _, after) = parts(&page).ok_or("ARCHITECTURE.md: no place for the map")?;
    fs::write(path, format!("{before}{}{after}", map(&tree.sources, &tree.texts)))?;
    Ok(true)
}

/// A map that is not the tree's.
pub(super) fn check(sources: &[SourceFile], texts: &[(String, String)]) -> Vec<StyleFinding> {
    let Some((_, page)) = texts.iter().find(|(path, _)| path == PAGE) else { return Vec::new() };
    let is_true = parts(page).is_some_and(|(_, written, _)| written == map(sources, texts));
    let what = "the map is not that of the files: `cargo xtask map` writes it";
    if is_true { Vec::new() } else { vec![StyleFinding::new(PAGE, 0, what)] }
}

/// The page before the map, the map, and the page after it.
fn parts(page: &str) -> Option<(&str, &str, &str)> {
    let begin = page.find(BEGIN)? + BEGIN.len();
    let end = begin + page[begin..].find(END)?;
    Some((&page[..begin], &page[begin..end], &page[end..]))
}

fn map(sources: &[SourceFile], texts: &[(String, String)]) -> String {
    let mut map = String::from("\n```\n");
    for root in roots(sources) {
        let name = root.trim_end_matches("src/");
        line(&mut map, 0, name, &root_of(&root, texts));
        for (place, sentence) in below(&root, sources) {
            let depth = place.trim_end_matches('/').matches('/').count() + 1;
            let last = place.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            let slash = if place.ends_with('/') { "/" } else { "" };
            line(&mut map, depth, &format!("{last}{slash}"), &sentence);
        }
    }
    map.push_str("```\n");
    map
}

fn line(map: &mut String, depth: usize, name: &str, sentence: &str) {
    let indented = format!("{:indent$}{name}", "", indent = 2 * depth);
    // OK because writing to a string cannot fail.
    let _ = writeln!(map, "{indented:COLUMN$} {sentence}");
}

/// The crate's own sentence, from its front page or, where that includes it, its README.
fn root_of(root: &str, texts: &[(String, String)]) -> String {
    let readme = format!("{}README.md", root.trim_end_matches("src/"));
    let pages = [format!("{root}lib.rs"), format!("{root}main.rs"), readme];
    let text = |page: &String| texts.iter().find(|(path, _)| path == page);
    let mut sentences = pages.iter().filter_map(text).map(|(path, text)| match path.as_str() {
        page if page.ends_with(".md") => first_of(text.lines().skip_while(is_heading)),
        _ => sentence(text),
    });
    sentences.find(|sentence| !sentence.is_empty()).unwrap_or_default()
}

/// The files and folders right below the crate's root, and the folders below those.
fn below(root: &str, sources: &[SourceFile]) -> BTreeMap<String, String> {
    let inside = sources.iter().filter_map(|s| Some((s.path.strip_prefix(root)?, s)));
    let mut places = BTreeMap::new();
    for (path, source) in inside {
        let folder = path.strip_suffix("mod.rs");
        let place = folder.unwrap_or(path);
        let depth = place.trim_end_matches('/').matches('/').count();
        let is_front = matches!(path, "lib.rs" | "main.rs");
        if !is_front && (depth == 0 || depth == 1 && folder.is_some()) {
            places.insert(place.to_owned(), sentence(&source.text));
        }
    }
    places
}

fn is_heading(line: &&str) -> bool {
    line.is_empty() || line.starts_with('#')
}

/// The first sentence of a file's documentation.
fn sentence(text: &str) -> String {
    let lines = text.lines().skip_while(|line| !line.starts_with("//! "));
    first_of(lines.map_while(|line| line.strip_prefix("//! ")))
}

/// The first sentence of a paragraph, without the marks of links.
fn first_of<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let paragraph: Vec<_> = lines.take_while(|line| !line.is_empty()).collect();
    let paragraph = paragraph.join(" ").replace(['[', ']'], "");
    let end = paragraph.find(". ").unwrap_or(paragraph.len());
    paragraph[..end].trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts() -> [(String, String); 2] {
        let lib = "#![doc = include_str!(\"../README.md\")]\n";
        [("src/lib.rs", lib), ("README.md", "# a\n\nA crate,\nin short. More of it.\n")]
            .map(|(path, text)| (format!("crates/a/{path}"), text.to_owned()))
    }

    fn sources() -> Vec<SourceFile> {
        let parse =
            |(path, text): (&str, &str)| SourceFile::parse(path, text).expect("it is valid");
        [
            ("crates/a/src/one.rs", "//! One [`Idea`], with\n//! a second line.\n"),
            ("crates/a/src/two/mod.rs", "//! Two ideas.\n"),
            ("crates/a/src/two/first.rs", "//! Not in the map.\n"),
            ("crates/a/src/two/deep/mod.rs", "//! A folder below.\n"),
            ("crates/a/tests/b.rs", "//! Not in the map.\n"),
        ]
        .map(parse)
        .into()
    }

    #[test]
    fn a_line_a_file_or_folder_with_its_first_sentence() {
        let lines: Vec<_> = map(&sources(), &texts()).lines().map(str::to_owned).collect();
        assert_eq!(
            lines[2..6],
            [
                "crates/a/                    A crate, in short",
                "  one.rs                     One `Idea`, with a second line",
                "  two/                       Two ideas",
                "    deep/                    A folder below",
            ]
        );
        assert_eq!(lines.len(), 7);
    }

    #[test]
    fn a_map_that_has_grown_old_is_found() {
        let sources = sources();
        let page = |map: &str| (PAGE.to_owned(), format!("# A\n{BEGIN}{map}{END}\nmore\n"));
        assert!(check(&sources, &[page(&map(&sources, &[]))]).is_empty());
        assert_eq!(check(&sources, &[page("\n")]).len(), 1);
        assert_eq!(check(&sources, &[(PAGE.to_owned(), "no map".to_owned())]).len(), 1);
    }
}
