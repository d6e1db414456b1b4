//! The commands of the guides, run as they stand there: a document that names a flag which is gone, or
//! a scenario that fails, is wrong.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, thread};

/// The folder that the commands are run in.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The guides, and other documents with commands that need neither network nor terminal.
fn documents() -> Vec<PathBuf> {
    let guides = fs::read_dir(root().join("docs/guides")).expect("the folder is there");
    let mut all: Vec<PathBuf> = guides.map(|entry| entry.expect("it can be read").path()).collect();
    all.retain(|path| path.extension().is_some_and(|ext| ext == "md"));
    all.sort();
    all
}

/// The commands in the `sh` blocks of a text, one a line.
fn commands(text: &str) -> Vec<String> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            inside = line == "```sh";
        } else if inside && line.starts_with("stagger ") {
            found.push(line.to_owned());
        }
    }
    found
}

/// The exit code that a command is said to have: 0, unless a comment behind it names another.
fn code(command: &str) -> i32 {
    let said = command.split_once("# exit ").map(|(_, said)| said);
    let digits = said.map(|said| said.split(|c: char| !c.is_ascii_digit()).next());
    digits.flatten().map_or(0, |digits| digits.parse().expect("a number follows"))
}

/// A shell as a reader has it, in which our binary comes first.
fn run(command: &str) -> Result<(), String> {
    let folder = Path::new(env!("CARGO_BIN_EXE_stagger")).parent().expect("a file is in a folder");
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    let mut shell = Command::new("bash");
    shell.args(["-o", "pipefail", "-c", command]).env("PATH", path).current_dir(root());
    let output = shell.stdin(std::process::Stdio::null()).output().expect("bash is there");
    if output.status.code() == Some(code(command)) && !output.stdout.is_empty() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{command}: {}, {} bytes: {said}", output.status, output.stdout.len()))
}

#[test]
fn every_command_of_the_guides_runs() {
    let mut all = Vec::new();
    for path in documents() {
        let text = fs::read_to_string(&path).expect("a document is text");
        all.extend(commands(&text));
    }
    assert!(all.len() >= 15, "the guides have commands to try: {all:?}");
    let half = all.len() / 2;
    let failed: Vec<String> = thread::scope(|scope| {
        let parts = [&all[..half], &all[half..]].map(|part| {
            scope.spawn(|| part.iter().filter_map(|it| run(it).err()).collect::<Vec<_>>())
        });
        parts.into_iter().flat_map(|part| part.join().expect("no panic")).collect()
    });
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn only_commands_of_shell_blocks_are_run() {
    let text =
        "stagger no\n```sh\nstagger a\n# no\nstagger b | wc\n```\n```text\nstagger no\n```\n";
    assert_eq!(commands(text), ["stagger a", "stagger b | wc"]);
    assert_eq!((code("stagger a"), code("stagger a  # exit 1: too slow")), (0, 1));
}
