//! The book: its pages, its faults, and its files.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use askama::Template;
use xtask_workbench::{Workspace, emit, note};

use super::links::LinkTarget;
use super::page::Page;
use super::summary::{self, Chapter, Entry};

/// All pages of docs/, read.
#[derive(Debug)]
pub(crate) struct Book {
    root: PathBuf,
    entries: Vec<Entry>,
    /// By the path below docs/.
    pages: BTreeMap<String, Page>,
    /// The files below docs/ that no page is made of.
    files: Vec<String>,
}

/// Writes the site, and says what is in it; false when a page or a link is wrong.
pub(crate) fn run(out: Option<PathBuf>) -> Result<bool, Box<dyn Error>> {
    let workspace = Workspace::load()?;
    let out = out.unwrap_or_else(|| workspace.target_directory.join("site"));
    let book = Book::read(&workspace.workspace_root)?;
    let faults = book.faults();
    faults.iter().for_each(|fault| note(fault));
    let written = book.write(&out)?;
    emit(&format!("{}: {written}\n", out.display()));
    Ok(faults.is_empty())
}

impl Book {
    /// Reads the table of contents and everything below docs/.
    pub(crate) fn read(root: &Path) -> Result<Self, Box<dyn Error>> {
        let docs = root.join("docs");
        let entries = summary::parse(&fs::read_to_string(docs.join("SUMMARY.md"))?)?;
        let mut found = Vec::new();
        walk(&docs, &docs, &mut found)?;
        let mut pages = BTreeMap::new();
        let mut files = Vec::new();
        for path in found.into_iter().filter(|path| path != "SUMMARY.md") {
            if path.ends_with(".md") {
                let page = Page::of(root, &path, &fs::read_to_string(docs.join(&path))?);
                pages.insert(path, page);
            } else {
                files.push(path);
            }
        }
        Ok(Self { root: root.to_owned(), entries, pages, files })
    }

    /// Pages without a line in the table of contents, lines without a page, and links to nothing.
    pub(crate) fn faults(&self) -> Vec<String> {
        let listed: Vec<&str> = self.chapters().map(|chapter| chapter.path.as_str()).collect();
        let unlisted = self.pages.keys().filter(|path| !listed.contains(&path.as_str()));
        let unlisted = unlisted.map(|path| format!("docs/{path}: not in docs/SUMMARY.md"));
        let missing = listed.iter().filter(|path| !self.pages.contains_key(**path));
        let missing = missing.map(|path| format!("docs/SUMMARY.md: there is no page {path}"));
        let links = self.pages.iter().flat_map(|(path, page)| {
            let wrong = page.links.iter().filter(|(_, target)| !self.has(target));
            wrong.map(move |(link, _)| format!("docs/{path}: the link `{link}` leads to nothing"))
        });
        unlisted.chain(missing).chain(links).collect()
    }

    fn chapters(&self) -> impl Iterator<Item = &Chapter> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Chapter(chapter) => Some(chapter),
            Entry::Part(_) => None,
        })
    }

    fn has(&self, target: &LinkTarget) -> bool {
        match target {
            LinkTarget::Missing(_) => false,
            LinkTarget::Page { path, heading } => self.pages.get(path).is_some_and(|page| {
                heading.as_ref().is_none_or(|heading| page.headings.contains(heading))
            }),
            LinkTarget::Elsewhere | LinkTarget::File(_) | LinkTarget::Repository { .. } => true,
        }
    }

    /// Writes all pages and files below `out`, and says how many. The first page is also the index.
    pub(crate) fn write(&self, out: &Path) -> Result<String, Box<dyn Error>> {
        let chapters: Vec<&Chapter> = self.chapters().collect();
        for (at, chapter) in chapters.iter().enumerate() {
            let Some(page) = self.pages.get(&chapter.path) else { continue };
            let view = PageView {
                title: &chapter.title,
                base: "../".repeat(chapter.path.matches('/').count()),
                path: &chapter.path,
                html: &page.html,
                entries: &self.entries,
                before: at.checked_sub(1).map(|before| chapters[before]),
                after: chapters.get(at + 1).copied(),
            };
            let text = view.render()?;
            put(&out.join(chapter.html()), text.as_bytes())?;
            if at == 0 {
                put(&out.join("index.html"), text.as_bytes())?;
            }
        }
        put(&out.join("site.css"), include_bytes!("../../templates/site.css"))?;
        for file in &self.files {
            put(&out.join(file), &fs::read(self.root.join("docs").join(file))?)?;
        }
        let lab = if self.files.iter().any(|file| file == "playground/lab.js") {
            "the playground included"
        } else {
            "the playground without its lab, which scripts/playground builds"
        };
        Ok(format!("{} pages, {} files, {lab}", chapters.len(), self.files.len()))
    }
}

/// A page with the table of contents beside it.
#[derive(Template)]
#[template(path = "page.html")]
struct PageView<'a> {
    title: &'a str,
    /// The way from this page to the root of the site.
    base: String,
    path: &'a str,
    html: &'a str,
    entries: &'a [Entry],
    before: Option<&'a Chapter>,
    after: Option<&'a Chapter>,
}

fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(path, bytes)
}

/// The paths of all files below `folder`, sorted.
fn walk(docs: &Path, folder: &Path, found: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            walk(docs, &path, found)?;
        } else {
            let below = path.strip_prefix(docs).unwrap_or(&path);
            found.push(below.to_string_lossy().replace('\\', "/"));
        }
    }
    found.sort();
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{env, process};

    use super::*;

    fn book(files: &[(&str, &str)]) -> (PathBuf, Book) {
        let name = files.iter().map(|(_, text)| text.len()).sum::<usize>();
        let root = env::temp_dir().join(format!("stagger-site-{}-{name}", process::id()));
        for (path, text) in files {
            put(&root.join("docs").join(path), text.as_bytes()).expect("it is ours");
        }
        let book = Book::read(&root).expect("it can be read");
        (root, book)
    }

    #[test]
    fn every_page_is_listed_and_every_link_leads_somewhere() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let faults = Book::read(&root).expect("docs/ can be read").faults();
        assert!(faults.is_empty(), "{faults:#?}");
    }

    #[test]
    fn a_page_that_is_not_listed_and_links_to_nothing_are_found() {
        let (root, book) = book(&[
            ("SUMMARY.md", "# Summary\n\n[A](a.md)\n[No](no.md)\n"),
            ("a.md", "# A\n\n[1](b.md) [2](c.md) [3](#a) [4](b.md#nothing)"),
            ("b.md", "# B\n"),
        ]);
        let faults = book.faults();
        fs::remove_dir_all(root).expect("it is ours");
        let wanted = [
            "docs/b.md: not in docs/SUMMARY.md",
            "docs/SUMMARY.md: there is no page no.md",
            "docs/a.md: the link `c.md` leads to nothing",
            "docs/a.md: the link `b.md#nothing` leads to nothing",
        ];
        assert_eq!(faults, wanted);
    }

    #[test]
    fn the_first_page_is_the_index_and_files_are_copied() {
        let (root, book) = book(&[
            ("SUMMARY.md", "# Summary\n\n[Start](README.md)\n- [In <it>](sub/a.md)\n"),
            ("README.md", "# Start\n"),
            ("sub/a.md", "# A\n\n[back](../README.md)\n"),
            ("sub/lab.txt", "kept"),
        ]);
        let out = root.join("site");
        let written = book.write(&out).expect("it can be written");
        let read = |path: &str| fs::read_to_string(out.join(path)).expect("it is there");
        let (index, start, page) = (read("index.html"), read("README.html"), read("sub/a.html"));
        let copied = read("sub/lab.txt");
        fs::remove_dir_all(root).expect("it is ours");
        assert_eq!(index, start);
        assert!(index.contains("In &#60;it&#62;"), "{index}");
        assert!(page.contains("href=\"../README.html\""), "{page}");
        assert!(page.contains("href=\"../site.css\""), "{page}");
        assert_eq!(copied, "kept");
        assert!(written.starts_with("2 pages, 1 files"), "{written}");
    }
}
