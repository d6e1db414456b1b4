//! The process under test.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Every command, and those below it.
pub(crate) const COMMANDS: [&str; 45] = [
    "demo",
    "storm",
    "tune",
    "watch",
    "explain",
    "lint",
    "choose",
    "import",
    "export",
    "exec",
    "http",
    "proxy",
    "serve",
    "webhooks",
    "webhooks create",
    "webhooks list",
    "webhooks get",
    "webhooks tail",
    "webhooks export",
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
    "operator add",
    "operator remove",
    "operator list",
    "completions",
    "man",
];

pub(crate) fn stagger(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stagger"));
    command.args(args).stdin(Stdio::null());
    command
}

/// The output of a command that succeeds.
pub(crate) fn printed(args: &[&str]) -> String {
    let output = stagger(args).output().expect("the binary was built for this test");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it prints UTF-8")
}

/// Runs a tool of the system with a text on standard input; `None` when it is not installed.
pub(crate) fn system(tool: &str, args: &[&str], input: &str) -> Option<(bool, String)> {
    use std::io::Write;
    let mut command = Command::new(tool);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().ok()?;
    let mut stdin = child.stdin.take()?;
    // A tool that does not read its input says so by its exit code.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().ok()?;
    let said = [output.stdout, output.stderr].concat();
    Some((output.status.success(), String::from_utf8_lossy(&said).into_owned()))
}

/// A folder of this test's own, empty.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("stagger-front-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a temporary folder");
    folder
}
