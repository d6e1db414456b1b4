//! Uses of the clock, of sleep and of chance: two files may; all others receive the answer.

use super::source::{SourceFile, StyleFinding, Token};

/// The two files, that of the server for tests, which notes when a request arrived, and those of the
/// dispatcher's keys and of its stores' fences, which no generator may make.
const ALLOWED: [&str; 5] = [
    "crates/sender/src/secret.rs",
    "crates/stagger/src/clock.rs",
    "crates/stagger/src/rng.rs",
    "crates/store/src/rng.rs",
    "crates/testkit/src/server/clock.rs",
];
/// Functions that read time, wait, or fetch chance, by the last part of their path.
const FUNCTIONS: [&str; 7] =
    ["now", "sleep", "sleep_ms", "sleep_until", "park_timeout", "from_os_rng", "from_entropy"];
/// Crates and types that are sources of chance.
const SOURCES: [&str; 6] = ["fastrand", "getrandom", "rand", "rand_core", "OsRng", "RandomState"];
/// A caller's own function of such a name is its own business: `Self::now()` reads no clock.
const OWN: [&str; 4] = ["Self", "self", "super", "crate"];

/// Every read of time or chance outside the two files; tests, benches and chores may, and so may the
/// peers' bench, which times other people's crates.
pub(super) fn check(sources: &[SourceFile]) -> Vec<StyleFinding> {
    let judged = |s: &&SourceFile| {
        !matches!(s.krate(), "bench" | "xtask") && !ALLOWED.contains(&s.path.as_str())
    };
    sources.iter().filter(judged).flat_map(reads).collect()
}

fn reads(source: &SourceFile) -> Vec<StyleFinding> {
    let tokens = source.shipped_tokens();
    let find = |at| Some((read(&tokens, at)?, tokens[at].line));
    (0..tokens.len())
        .filter_map(find)
        .map(|(what, line)| {
            StyleFinding::new(&source.path, line, format!("{what} outside clock.rs and rng.rs"))
        })
        .collect()
}

/// The read that starts with the token `at`, if any: `Instant::now`, `thread::sleep`, `fastrand::`.
fn read(tokens: &[Token], at: usize) -> Option<String> {
    let text = |n: usize| tokens.get(at + n).map_or("", |token| token.text.as_str());
    if text(1) != ":" || text(2) != ":" {
        return None;
    }
    let (first, last) = (text(0), text(3));
    let is_read = FUNCTIONS.contains(&last) && !OWN.contains(&first);
    (is_read || SOURCES.contains(&first)).then(|| format!("{first}::{last}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let source = SourceFile::parse(path, text).expect("the fixture is valid");
        check(&[source]).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn a_clock_read_is_found_inside_a_macro_too() {
        let text = "fn a() { assert!(std::time::Instant::now() > b); }";
        assert_eq!(
            found("crates/sim/src/a.rs", text),
            ["Instant::now outside clock.rs and rng.rs"]
        );
    }

    #[test]
    fn sleep_and_chance_are_found_however_they_are_imported() {
        for text in [
            "use std::thread::sleep;",
            "fn a() { tokio::time::sleep(b) }",
            "fn a() -> u64 { fastrand::u64(..) }",
            "use getrandom::fill;",
            "use std::time::SystemTime as T; fn a() { T::now(); }",
        ] {
            assert_eq!(found("crates/cli/src/main.rs", text).len(), 1, "{text}");
        }
    }

    #[test]
    fn the_two_files_the_tests_and_comments_may() {
        let read = "fn a() { Instant::now(); }";
        assert!(found("crates/stagger/src/clock.rs", read).is_empty());
        assert!(found("crates/core/tests/a.rs", read).is_empty());
        let test = format!("#[cfg(test)] mod tests {{ {read} }}");
        assert!(found("crates/core/src/a.rs", &test).is_empty());
        assert!(found("crates/core/src/a.rs", "/// `Instant::now`\nfn a() {}").is_empty());
    }
}
