//! The client packages of `clients/` against a running dispatcher: the tests of each one, by the toolchain of its language.
//! A language whose toolchain is missing is skipped, with a line that says so.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

#[path = "webhooks/serving.rs"]
mod serving;

use serving::{KEY, Serving};

fn package(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../clients").join(name)
}

/// A folder for what a toolchain writes: packages are published from their folders, which stay clean.
fn scratch(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("client-{name}"));
    fs::remove_dir_all(&folder).ok();
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Whether a program is there.
#[expect(clippy::print_stderr, reason = "the output of tests shows what was left out")]
fn has(program: &str, version: &str) -> bool {
    let is_there = Command::new(program).arg(version).output().is_ok_and(|it| it.status.success());
    if !is_there {
        eprintln!("skipped: there is no {program}");
    }
    is_there
}

/// Runs the tests of a package beside a dispatcher; the text that shows that they ran is in their output.
fn passes(mut command: Command, shown: &str) {
    let serving = Serving::start();
    command.env("STAGGER_URL", &serving.url).env("STAGGER_KEY", KEY);
    for proxy in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        command.env_remove(proxy);
    }
    let output = command.output().expect("it starts");
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(output.status.success() && text.contains(shown), "{text}");
    assert!(!text.contains("skipped=") && !text.contains("SKIP"), "a test was left out: {text}");
}

#[test]
fn python() {
    if !has("python3", "--version") {
        return;
    }
    let mut command = Command::new("python3");
    command.args(["-W", "error", "-m", "unittest", "discover", "-s", "tests"]);
    command.current_dir(package("python")).env("PYTHONPATH", "src");
    command.env("PYTHONPYCACHEPREFIX", scratch("python"));
    passes(command, "OK");
}

#[test]
fn javascript() {
    if !has("node", "--version") {
        return;
    }
    let mut command = Command::new("node");
    command
        .args(["--test", "--test-reporter=tap", "test/client.test.js"])
        .current_dir(package("javascript"));
    passes(command, "# fail 0");
}

#[test]
fn java() {
    if !has("javac", "--version") {
        return;
    }
    let classes = scratch("java");
    let mut compiler = Command::new("javac");
    compiler.args(["-Xlint:all", "-Werror", "--release", "17", "-d"]).arg(&classes);
    for folder in ["src/main/java", "src/test/java"] {
        let folder = package("java").join(folder).join("dev/stagger/webhooks");
        let files = fs::read_dir(folder).expect("a folder of sources");
        compiler.args(files.map(|file| file.expect("it can be read").path()));
    }
    let output = compiler.output().expect("it starts");
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&text));
    let mut command = Command::new("java");
    command.arg("-ea").arg("-cp").arg(&classes).arg("dev.stagger.webhooks.ClientTest");
    passes(command, "4 tests passed");
}

#[test]
fn go() {
    if !has("go", "version") {
        return;
    }
    let mut command = Command::new("go");
    command.args(["test", "-count=1", "./..."]).current_dir(package("go"));
    // Nothing but the standard library, so nothing is fetched.
    command.env("GOFLAGS", "-mod=mod").env("GOPROXY", "off").env("GOCACHE", scratch("go"));
    passes(command, "ok");
}
