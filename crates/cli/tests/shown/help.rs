//! The examples in the help of every command.

use std::collections::BTreeSet;
use std::process::Command;

use crate::blocks::{Block, of_help};
use crate::check::{Unplayed, play_all};

/// Every command, and those below it; the first is the program itself.
const COMMANDS: [&str; 18] = [
    "",
    "demo",
    "storm",
    "explain",
    "lint",
    "choose",
    "import",
    "exec",
    "http",
    "serve",
    "store",
    "store backup",
    "store restore",
    "store check",
    "store migrate",
    "store copy",
    "completions",
    "man",
];

const DATABASE: &str = "names a database that is not there; tests/postgres.rs has its own";

/// The examples that are not played here.
const UNPLAYED: [Unplayed; 4] = [
    ("stagger serve --help", "stagger serve --store", DATABASE),
    ("stagger store --help", "stagger store check --store", DATABASE),
    ("stagger store migrate --help", "stagger store migrate", DATABASE),
    ("stagger store copy --help", "stagger store copy", DATABASE),
];

fn help(command: &str) -> String {
    let mut tool = Command::new(env!("CARGO_BIN_EXE_stagger"));
    let tool = tool.args(command.split_whitespace()).arg("--help").output();
    String::from_utf8(tool.expect("the binary was built for this test").stdout).expect("UTF-8")
}

/// The examples of all commands, each line once.
fn blocks() -> Vec<Block> {
    let mut seen = BTreeSet::new();
    let blocks = COMMANDS.into_iter().rev().map(|command| {
        let mut block = of_help(command, &help(command));
        assert!(!block.examples.is_empty(), "{command} shows no example");
        block.examples.retain(|example| seen.insert(example.command.clone()));
        block
    });
    blocks.collect()
}

#[test]
fn every_example_of_a_help_does_what_is_shown() {
    play_all(&blocks(), &UNPLAYED);
}
