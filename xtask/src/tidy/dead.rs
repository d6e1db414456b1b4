//! Rust files that no `mod` line reaches: cargo never compiles them, so they rot.

use std::collections::BTreeSet;

use syn::{Item, ItemMod};

use super::finding::StyleFinding;
use super::source::{SourceFile, is_test};

/// Every file below a `src` folder that no crate root reaches.
pub(super) fn check(sources: &[SourceFile]) -> Vec<StyleFinding> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn dead(files: &[(&str, &str)]) -> Vec<String> {
        let parse =
            |(path, text): &(&str, &str)| SourceFile::parse(path, text).expect("it is valid");
        let sources: Vec<_> = files.iter().map(parse).collect();
        check(&sources).into_iter().map(|finding| finding.file).collect()
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
}
