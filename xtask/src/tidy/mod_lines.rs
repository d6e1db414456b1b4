//! Files of the workspace, and what their `mod` lines say: dead ones, test-only ones, and front pages.
//!
//! Cargo never compiles a file that no `mod` line reaches, so it rots. The name or the folder of a test-only
//! file says so, because the `mod` line that says it stands elsewhere.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;
use std::{fs, io};

use syn::spanned::Spanned;
use syn::{Item, ItemMod};

use super::source::{SourceFile, StyleFinding, is_test};

/// All files of the workspace.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) sources: Vec<SourceFile>,
    /// Path and text of every file that is readable as text, Rust files included.
    pub(super) texts: Vec<(String, String)>,
}

impl Tree {
    /// Reads everything below `root`, sorted by path.
    ///
    /// Folders are walked rather than asked from git, which refuses a clone that belongs to another
    /// user, as on many build machines.
    pub(super) fn read(root: &Path) -> Result<Self, Box<dyn Error>> {
        let mut tree = Self::default();
        walk(root, root, &mut tree.texts)?;
        tree.texts.sort();
        for (path, text) in tree.texts.iter().filter(|(path, _)| path.ends_with(".rs")) {
            tree.sources.push(SourceFile::parse(path, text)?);
        }
        mark(&mut tree.sources);
        Ok(tree)
    }
}

/// The hidden folders that belong to the project.
const HIDDEN: [&str; 4] = [".cargo", ".ci", ".config", ".github"];

fn walk(root: &Path, folder: &Path, texts: &mut Vec<(String, String)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() && is_ours(&path) {
            walk(root, &path, texts)?;
        } else if kind.is_file()
            && entry.file_name() != ".git"
            && let Ok(text) = fs::read_to_string(&path)
        {
            let below = path.strip_prefix(root).unwrap_or(&path);
            texts.push((below.to_string_lossy().replace('\\', "/"), text));
        }
    }
    Ok(())
}

/// No hidden folder, and none that cargo or another tool marked as its cache.
fn is_ours(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let hidden = name.starts_with('.') && !HIDDEN.contains(&&*name);
    !hidden && name != "target" && !folder.join("CACHEDIR.TAG").exists()
}

/// Every file below a `src` folder that no crate root reaches.
pub(super) fn dead_files(sources: &[SourceFile]) -> Vec<StyleFinding> {
    let alive = reached(sources, Followed::All);
    let dead = |s: &&SourceFile| s.path.contains("src/") && !alive.contains(s.path.as_str());
    let finding = |s: &SourceFile| StyleFinding::new(&s.path, 0, "no `mod` line reaches this file");
    sources.iter().filter(dead).map(finding).collect()
}

/// The `mod` lines that are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Followed {
    All,
    /// Only those outside of `#[cfg(test)]`.
    Shipped,
}

/// The paths of the files that the crate roots reach.
pub(super) fn reached(sources: &[SourceFile], followed: Followed) -> BTreeSet<String> {
    let mut alive = BTreeSet::new();
    let roots = sources.iter().filter(|source| is_root(&source.path));
    roots.for_each(|root| reach(root, sources, followed, &mut alive));
    alive.into_iter().map(str::to_owned).collect()
}

fn is_root(path: &str) -> bool {
    let file = path.rsplit_once("src/").map_or("", |(_, file)| file);
    matches!(file, "lib.rs" | "main.rs") || (file.starts_with("bin/") && file.ends_with(".rs"))
}

fn reach<'a>(
    source: &'a SourceFile,
    all: &'a [SourceFile],
    followed: Followed,
    alive: &mut BTreeSet<&'a str>,
) {
    if !alive.insert(source.path.as_str()) {
        return;
    }
    let counts = |item: &&Item| followed == Followed::All || !is_test(item);
    for module in source.items.iter().filter(counts).filter_map(outside) {
        let (file, folder) = candidates(&source.path, &module.ident.to_string());
        let next = all.iter().filter(|s| s.path == file || s.path == folder);
        next.for_each(|next| reach(next, all, followed, alive));
    }
}

/// `mod name;`, whose body is another file.
fn outside(item: &Item) -> Option<&ItemMod> {
    match item {
        Item::Mod(module) if module.content.is_none() => Some(module),
        _ => None,
    }
}

/// The possible places of the module `name` of the file at `path`.
fn candidates(path: &str, name: &str) -> (String, String) {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    let base = match file {
        "lib.rs" | "main.rs" | "mod.rs" => folder.to_owned(),
        _ => path.trim_end_matches(".rs").to_owned(),
    };
    (format!("{base}/{name}.rs"), format!("{base}/{name}/mod.rs"))
}

/// Folders of test-only files.
const FOLDERS: [&str; 2] = ["testing", "tests"];

/// Marks the files below a `src` folder that only `#[cfg(test)] mod` lines reach.
pub(super) fn mark(sources: &mut [SourceFile]) {
    let only: Vec<_> = test_only(sources).map(|source| source.path.clone()).collect();
    for source in sources.iter_mut().filter(|source| only.contains(&source.path)) {
        source.is_test = true;
    }
}

/// Every such file whose path does not say so.
pub(super) fn test_only_files(sources: &[SourceFile]) -> Vec<StyleFinding> {
    let what = "only tests reach this file: `_test` in its name, or a folder `testing/` says so";
    let unsaid = test_only(sources).filter(|source| !says_so(&source.path));
    unsaid.map(|source| StyleFinding::new(&source.path, 0, what)).collect()
}

fn test_only(sources: &[SourceFile]) -> impl Iterator<Item = &SourceFile> {
    let shipped = reached(sources, Followed::Shipped);
    let alive = reached(sources, Followed::All);
    let only = move |path: &str| alive.contains(path) && !shipped.contains(path);
    sources.iter().filter(move |source| only(&source.path))
}

fn says_so(path: &str) -> bool {
    let mut parts = path.trim_end_matches(".rs").split('/');
    let named = |part: &str| part.ends_with("_test") || part.starts_with("test_");
    parts.any(|part| named(part) || FOLDERS.contains(&part))
}

/// Every other item on a front page.
pub(super) fn front_pages(sources: &[SourceFile]) -> Vec<StyleFinding> {
    // A library of one small file has no need of a front page.
    let ours = |s: &&SourceFile| !s.path.starts_with("xtask/no-std/");
    sources.iter().filter(|source| source.is_front()).filter(ours).flat_map(items).collect()
}

fn items(source: &SourceFile) -> Vec<StyleFinding> {
    let finding = |item: &Item| {
        let what = "only docs, `mod` and `use` lines belong here";
        StyleFinding::new(&source.path, item.span().start().line, what)
    };
    source.shipped().filter(|item| !belongs(item)).map(finding).collect()
}

fn belongs(item: &Item) -> bool {
    match item {
        Item::Use(_) | Item::ExternCrate(_) => true,
        // A procedural macro has to be at the front of its crate.
        Item::Fn(function) => {
            function.attrs.iter().any(|attr| attr.path().is_ident("proc_macro_attribute"))
        }
        Item::Mod(module) => module.content.iter().all(|(_, items)| items.iter().all(belongs)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::{env, process};

    use super::*;

    fn dead(files: &[(&str, &str)]) -> Vec<String> {
        let parse =
            |(path, text): &(&str, &str)| SourceFile::parse(path, text).expect("it is valid");
        let sources: Vec<_> = files.iter().map(parse).collect();
        dead_files(&sources).into_iter().map(|finding| finding.file).collect()
    }

    #[test]
    fn a_file_without_a_mod_line_is_dead_and_so_are_its_children() {
        let files = [
            ("crates/a/src/lib.rs", "mod one;\nmod two;"),
            ("crates/a/src/one.rs", "#[cfg(test)]\nmod tests;"),
            ("crates/a/src/one/tests.rs", ""),
            ("crates/a/src/two/mod.rs", "mod inner;"),
            ("crates/a/src/two/inner.rs", ""),
            ("crates/a/src/old/mod.rs", "mod inner;"),
            ("crates/a/src/old/inner.rs", ""),
            ("crates/a/tests/alone.rs", ""),
        ];
        assert_eq!(dead(&files), ["crates/a/src/old/mod.rs", "crates/a/src/old/inner.rs"]);
    }

    #[test]
    fn each_binary_is_a_root() {
        assert!(dead(&[("xtask/src/main.rs", ""), ("crates/a/src/bin/b.rs", "")]).is_empty());
    }

    #[test]
    fn a_test_only_file_says_so_in_its_path() {
        let files = [
            (
                "crates/a/src/lib.rs",
                "mod one;\n#[cfg(test)]\nmod bench;\n#[cfg(test)]\nmod testing;",
            ),
            ("crates/a/src/one.rs", "#[cfg(test)]\nmod tests;\n#[cfg(test)]\nmod slow_test;"),
            ("crates/a/src/one/tests.rs", ""),
            ("crates/a/src/one/slow_test.rs", ""),
            ("crates/a/src/bench.rs", "mod inner;"),
            ("crates/a/src/bench/inner.rs", ""),
            ("crates/a/src/testing/mod.rs", "mod inner;"),
            ("crates/a/src/testing/inner.rs", ""),
        ];
        let parse =
            |(path, text): &(&str, &str)| SourceFile::parse(path, text).expect("it is valid");
        let mut sources: Vec<_> = files.iter().map(parse).collect();
        let found: Vec<_> =
            test_only_files(&sources).into_iter().map(|finding| finding.file).collect();
        assert_eq!(found, ["crates/a/src/bench.rs", "crates/a/src/bench/inner.rs"]);
        mark(&mut sources);
        assert_eq!(sources.iter().filter(|source| !source.is_test).count(), 2);
    }

    fn count(path: &str, text: &str) -> usize {
        front_pages(&[SourceFile::parse(path, text).expect("the fixture is valid")]).len()
    }

    #[test]
    fn a_type_on_the_front_page_is_found() {
        let text = "//! Doc.\nmod a;\npub use a::B;\nextern crate alloc;\n";
        assert_eq!(count("crates/a/src/b/mod.rs", text), 0);
        let with = format!("{text}struct C;\nmod inline {{ fn d() {{}} }}\n");
        assert_eq!(count("crates/a/src/b/mod.rs", &with), 2);
        assert_eq!(count("crates/a/src/lib.rs", &with), 2);
        assert_eq!(count("crates/a/src/b.rs", &with), 0);
    }

    #[test]
    fn caches_and_hidden_folders_are_not_ours() {
        let root = env::temp_dir().join(format!("stagger-tidy-{}", process::id()));
        let files = ["a.rs", ".ci/run", ".git/b.rs", ".idea/c.rs", "built/d.rs", "target/e.rs"];
        for file in files.iter().chain(&["built/CACHEDIR.TAG"]) {
            let path = root.join(file);
            fs::create_dir_all(path.parent().expect("it has a folder")).expect("it is ours");
            fs::write(path, "").expect("it is ours");
        }
        let tree = Tree::read(&root).expect("all of it is valid");
        fs::remove_dir_all(&root).expect("it is ours");
        let found: Vec<_> = tree.texts.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(found, [".ci/run", "a.rs"]);
        assert_eq!(tree.sources.len(), 1);
    }
}
