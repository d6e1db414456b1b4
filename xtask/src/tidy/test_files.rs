//! Test-only files: their name or their folder says so, because the `mod` line that says it stands elsewhere.

use super::dead::{Followed, reached};
use super::finding::StyleFinding;
use super::source::SourceFile;

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
pub(super) fn check(sources: &[SourceFile]) -> Vec<StyleFinding> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
        let found: Vec<_> = check(&sources).into_iter().map(|finding| finding.file).collect();
        assert_eq!(found, ["crates/a/src/bench.rs", "crates/a/src/bench/inner.rs"]);
        mark(&mut sources);
        assert_eq!(sources.iter().filter(|source| !source.is_test).count(), 2);
    }
}
