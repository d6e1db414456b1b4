//! The commands in the documents.

use std::fs;
use std::path::{Path, PathBuf};

use crate::blocks::{Block, of_document};
use crate::check::{Unplayed, play_all};

const PACKAGE: &str = "runs another package, which ./test does";
const TRANSCRIPT: &str = "five commands and a receiver beside them: scripts/transcript plays them";

const CHECKED: &str = "checks what is not there; tests/exec/until.rs has its own";

/// The commands that are not played here.
const UNPLAYED: [Unplayed; 17] = [
    ("README.md", "./test", "runs this test among all others"),
    ("docs/proxy.md", "cargo install", "builds the program that is played here"),
    ("docs/dispatcher.md", "stagger serve", TRANSCRIPT),
    ("docs/dispatcher.md", "APP=", TRANSCRIPT),
    ("docs/dispatcher.md", "SECRET=", TRANSCRIPT),
    ("docs/dispatcher.md", "python3", TRANSCRIPT),
    ("docs/dispatcher.md", "curl", TRANSCRIPT),
    ("docs/exec.md", "stagger exec --attempts unlimited", CHECKED),
    ("docs/exec.md", "stagger exec --attempts 20", CHECKED),
    ("docs/exec.md", "stagger exec --attempts 10", CHECKED),
    ("docs/operations.md", "export", "names a database that is not there"),
    ("docs/operations.md", "stagger serve", "needs that database; tests/postgres.rs has its own"),
    ("docs/guides/breakers.md", "STAGGER_TEST_REDIS=", PACKAGE),
    ("docs/guides/budgets.md", "STAGGER_TEST_REDIS=", PACKAGE),
    ("docs/guides/budgets.md", "cargo xtask fleet", PACKAGE),
    (
        "docs/outages/github-2026-08.md",
        "stagger storm",
        "17 rows of millions; storm_outages.rs plays three",
    ),
    ("docs/playground/README.md", "", "needs a compiler for WebAssembly"),
];

/// The front page, and every page below `docs`.
fn documents() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths = vec![root.join("README.md")];
    for folder in ["docs", "docs/guides", "docs/outages", "docs/playground"] {
        let entries = fs::read_dir(root.join(folder)).expect("the folder is there");
        let all = entries.map(|entry| entry.expect("it can be read").path());
        paths.extend(all.filter(|path| path.extension().is_some_and(|ending| ending == "md")));
    }
    paths.sort();
    let text = |path: &PathBuf| fs::read_to_string(path).expect("a document is text");
    let name = |path: &PathBuf| path.strip_prefix(&root).expect("below it").display().to_string();
    paths.iter().map(|path| (name(path), text(path))).collect()
}

fn blocks() -> Vec<Block> {
    documents().iter().flat_map(|(name, text)| of_document(name, text)).collect()
}

#[test]
fn every_command_of_the_documents_does_what_is_shown() {
    let blocks = blocks();
    let sources: Vec<&str> = blocks.iter().map(|block| block.source.as_str()).collect();
    for source in [
        "README.md",
        "docs/exec.md",
        "docs/import.md",
        "docs/guides/queues.md",
        "docs/portal.md",
        "docs/proxy.md",
    ] {
        assert!(sources.contains(&source), "{source} has no commands any more: {sources:?}");
    }
    play_all(&blocks, &UNPLAYED);
}

#[test]
fn the_front_page_says_how_the_commands_are_installed() {
    let (_, readme) = documents().swap_remove(0);
    assert!(readme.contains("cargo install --path crates/cli"));
}
