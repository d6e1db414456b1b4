//! The programs of the migration guide are those that `cargo xtask bench migrations` compiles and plays.

use std::error::Error;
use std::fs;
use std::path::Path;

/// The line of a program above the part that the guide shows.
const SHOWN: &str = "// The guide shows what follows.\n";

/// The folders of the programs, in the order of the guide.
const PROGRAMS: [&str; 5] = ["backon", "tokio_retry", "backoff", "reqwest_retry", "tower"];

#[test]
fn the_guide_shows_another_program_than_the_one_that_is_played() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let guide = fs::read_to_string(root.join("docs/guides/migrating.md"))?;
    let shown = blocks(&guide);
    assert_eq!(
        shown.len(),
        2 * PROGRAMS.len(),
        "a block before and a block after for each program"
    );
    let sides = PROGRAMS.iter().flat_map(|folder| [(folder, "before"), (folder, "after")]);
    for ((folder, side), shown) in sides.zip(shown) {
        let path = root.join(format!("bench/peers/src/bin/migrations/{folder}/{side}.rs"));
        let program = fs::read_to_string(path)?;
        let (_, played) = program.split_once(SHOWN).ok_or("the program shows nothing")?;
        assert_eq!(shown, played, "{folder}, {side}");
    }
    Ok(())
}

/// The blocks of Rust, without the lines that a reader does not see.
fn blocks(page: &str) -> Vec<String> {
    let fenced = page.split("\n```rust").skip(1);
    let block = |text: &str| {
        let lines = text.lines().skip(1).take_while(|line| *line != "```");
        let seen = lines.filter(|line| *line != "#" && !line.starts_with("# "));
        seen.flat_map(|line| [line, "\n"]).collect()
    };
    fenced.map(block).collect()
}

#[test]
fn a_line_that_a_reader_does_not_see_counts_as_shown() {
    let page = "\n```rust,ignore\na\n\nb\n```\nwords\n```rust\n# hidden\n#[test]\n#\n```\n";
    assert_eq!(blocks(page), ["a\n\nb\n", "#[test]\n"]);
}
