//! The examples in the help of every command.

use std::collections::BTreeSet;
use std::process::Command;

use crate::blocks::{Block, of_help};
use crate::check::{Unplayed, play_all};

/// Every command, and those below it; the first is the program itself.
const COMMANDS: [&str; 44] = [
    "",
    "demo",
    "storm",
    "tune",
    "watch",
    "explain",
    "lint",
    "choose",
    "import",
    "exec",
    "http",
    "proxy",
    "serve",
    "webhooks",
    "webhooks create",
    "webhooks list",
    "webhooks get",
    "webhooks tail",
    "webhooks replay",
    "webhooks keys",
    "webhooks keys create",
    "webhooks keys list",
    "webhooks keys delete",
    "webhooks event-types",
    "webhooks event-types create",
    "webhooks event-types list",
    "webhooks event-types get",
    "webhooks event-types update",
    "webhooks event-types archive",
    "webhooks event-types unarchive",
    "webhooks event-types delete",
    "listen",
    "store",
    "store backup",
    "store restore",
    "store check",
    "store migrate",
    "store copy",
    "operator",
    "operator list",
    "operator remove",
    "operator add",
    "completions",
    "man",
];

const DATABASE: &str = "names a database that is not there; tests/postgres.rs has its own";

const FOLLOWS: &str = "goes on until there is a storm; tests/watch.rs has its own";

const SEARCH: &str = "takes minutes without optimization; tests/tune.rs has smaller worlds";

/// The examples that are not played here.
const UNPLAYED: [Unplayed; 13] = [
    ("stagger tune --help", "stagger tune --load 100", SEARCH),
    ("stagger tune --help", "stagger tune --scenario", SEARCH),
    ("stagger tune --help", "stagger tune --from-log", SEARCH),
    ("stagger tune --help", "stagger tune --outage", SEARCH),
    ("stagger tune --help", "stagger tune --policy", SEARCH),
    (
        "stagger exec --help",
        "stagger exec --attempts unlimited",
        "waits for a database that is not there; tests/exec/until.rs has its own",
    ),
    ("stagger serve --help", "stagger serve --store", DATABASE),
    ("stagger store --help", "stagger store check --store", DATABASE),
    ("stagger store migrate --help", "stagger store migrate", DATABASE),
    ("stagger store copy --help", "stagger store copy", DATABASE),
    ("stagger watch --help", "stagger watch /var/log", FOLLOWS),
    ("stagger watch --help", "stagger watch http:", FOLLOWS),
    ("stagger watch --help", "stagger watch --exit-on-storm", FOLLOWS),
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
