//! Files and folders of this repository that a page names: each of them is there.

use super::source::StyleFinding;

/// The folders whose files pages name from the root.
const ROOTS: [&str; 7] = ["bench/", "crates/", "deploy/", "docs/", "fuzz/", "scripts/", "xtask/"];

/// Every path in backticks on a page that names nothing; the changelog also tells of files that are gone.
pub(super) fn check(texts: &[(String, String)]) -> Vec<StyleFinding> {
    let is_page = |path: &str| {
        path.ends_with(".md") && !path.starts_with("vectors/") && path != "CHANGELOG.md"
    };
    let pages = texts.iter().filter(|(path, _)| is_page(path));
    pages.flat_map(|(path, text)| missing(path, text, texts)).collect()
}

fn missing(page: &str, text: &str, texts: &[(String, String)]) -> Vec<StyleFinding> {
    let mut findings = Vec::new();
    for (line, n) in text.lines().zip(1..) {
        for named in line.split('`').skip(1).step_by(2).filter(|named| is_path(named)) {
            let named = named.trim_end_matches('/');
            let is_there = |(path, _): &(String, String)| {
                path == named || path.strip_prefix(named).is_some_and(|rest| rest.starts_with('/'))
            };
            if !texts.iter().any(is_there) {
                findings.push(StyleFinding::new(page, n, format!("`{named}` is not there")));
            }
        }
    }
    findings
}

/// A path from the root without pattern or placeholder; what the build makes is not in the repository.
fn is_path(named: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    ROOTS.iter().any(|root| named.starts_with(root))
        && named.chars().all(plain)
        && named != "docs/playground/lab.js"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(page: &str) -> Vec<String> {
        let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        let texts = [file("README.md", page), file("crates/core/src/time.rs", "")];
        check(&texts).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn a_file_that_was_moved_is_found_and_a_folder_or_a_pattern_is_not() {
        assert_eq!(
            findings("see `crates/core/src/clock.rs`"),
            ["`crates/core/src/clock.rs` is not there"]
        );
        assert!(
            findings("see `crates/core/src/time.rs`, `crates/core`, `crates/*/src/a.rs`")
                .is_empty()
        );
    }
}
