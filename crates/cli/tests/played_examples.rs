//! The examples of `exec` and `http` in help, README and documentation, played as they are shown against
//! a server that fails first: each is tried again, and ends well.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use stagger_testkit::server::{BlockingServer, Reaction, Script};

const README: &str = include_str!("../../../README.md");
const DOCS: [&str; 3] = [
    include_str!("../../../docs/exec.md"),
    include_str!("../../../docs/http.md"),
    include_str!("../../../docs/guides/idempotency.md"),
];

/// Programs of the examples that need a host of their own: here they fetch from the server.
const FETCHING: [&str; 3] = ["rsync", "make", "mirror"];

/// A folder with the files that the examples name, and programs that fetch from a server.
struct Stage {
    folder: PathBuf,
    server: BlockingServer,
}

impl Stage {
    fn new(name: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("played").join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        let version = Reaction::ok("{\"version\": \"1.2\"}");
        let server = BlockingServer::start(Script::of([Reaction::status(503)]).then(version));
        fs::write(folder.join("order.json"), "{\"bolts\": 1}").expect("written");
        for program in FETCHING {
            let path = folder.join(program);
            let script = format!("#!/bin/sh\nexec curl -fsS {}\n", server.url("/"));
            fs::write(&path, script).expect("written");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("ours");
        }
        Self { folder, server }
    }

    /// The policies that a line names: one whole policy, or some by their names.
    fn policies(&self, line: &str) {
        let policies = match line.contains("policy.toml#") {
            true => {
                "policy = { nightly = { backoff.base = '10ms' }, api = { backoff.base = '10ms' } }\n"
            }
            false => "backoff.base = '10ms'\n",
        };
        fs::write(self.folder.join("policy.toml"), policies).expect("written");
    }

    /// Plays a line as a shell would, with this server in place of the one that is named.
    fn play(&self, line: &str) -> Output {
        let line = on_server(line, &self.server.url(""));
        let line = line.replace("/run/lock/", &format!("{}/", self.folder.display()));
        let tool = Path::new(env!("CARGO_BIN_EXE_stagger"));
        let ours = tool.parent().expect("a file is in a folder");
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{}:{path}", self.folder.display(), ours.display());
        let mut shell = Command::new("bash");
        shell.args(["-c", &line]).current_dir(&self.folder).env("PATH", path);
        for variable in ["STAGGER_ATTEMPT", "STAGGER_DEADLINE_MS", "http_proxy", "HTTP_PROXY"] {
            shell.env_remove(variable);
        }
        shell.output().expect("bash is there")
    }
}

/// The line with another origin in its URLs.
fn on_server(line: &str, origin: &str) -> String {
    let mut parts = line.split("https://");
    let mut played = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let path = part.find(['/', ' ']).map_or("", |at| &part[at..]);
        played += origin.trim_end_matches('/');
        played += path;
    }
    played
}

/// The calls of a command in the lines of a text, without what is said about them.
fn examples(text: &str, command: &str) -> Vec<String> {
    let typed = |line: &str| {
        let line = line.trim_start().trim_start_matches("$ ");
        let line = line.split(" # ").next().unwrap_or(line).trim_end();
        let line = line.split("   ").next().unwrap_or(line);
        line.starts_with(&format!("stagger {command} ")).then(|| line.to_owned())
    };
    text.lines().filter_map(typed).collect()
}

fn help(command: &str) -> String {
    let tool = Command::new(env!("CARGO_BIN_EXE_stagger")).args([command, "--help"]).output();
    String::from_utf8(tool.expect("the binary was built for this test").stdout).expect("UTF-8")
}

fn all(command: &str) -> Vec<String> {
    let help = help(command);
    let texts = DOCS.into_iter().chain([README, &help]);
    let mut found: Vec<String> = texts.flat_map(|text| examples(text, command)).collect();
    found.sort();
    found.dedup();
    found
}

#[test]
fn an_example_of_http_was_never_played() {
    let examples = all("http");
    assert!(examples.len() >= 7, "{examples:?}");
    for (number, line) in examples.iter().enumerate() {
        let stage = Stage::new(&format!("http-{number}"));
        stage.policies(line);
        let output = stage.play(line);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{line}: {said}");
        let seen = stage.server.seen();
        assert_eq!(seen.len(), 2, "{line}: {said}");
        assert_eq!(seen[0].method, seen[1].method, "{line}");
        assert_eq!(seen[0].headers.get("idempotency-key"), seen[1].headers.get("idempotency-key"));
        assert_eq!(
            line.contains("--idempotency-key"),
            seen[0].headers.contains_key("idempotency-key")
        );
        if line.contains("-o page.html") {
            let page = fs::read_to_string(stage.folder.join("page.html")).expect("written");
            assert_eq!(page, "{\"version\": \"1.2\"}");
        }
        if line.contains("--format json") {
            assert!(
                said.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok())
            );
        }
    }
}

#[test]
fn an_example_of_exec_was_never_played() {
    let examples = all("exec");
    assert!(examples.len() >= 5, "{examples:?}");
    for (number, line) in examples.iter().enumerate() {
        let stage = Stage::new(&format!("exec-{number}"));
        stage.policies(line);
        let output = stage.play(line);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{line}: {said}");
        assert_eq!(stage.server.seen().len(), 2, "{line}: {said}");
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        // Only the attempt that succeeded has anything to say.
        assert_eq!(out.matches("1.2").count(), 1, "{line}: {out}");
    }
}

#[test]
fn the_first_five_minutes_of_the_readme_named_files_that_were_not_there() {
    let block = README.split("```console\n").find(|block| block.contains("stagger choose"));
    let block = block.and_then(|block| block.split("```").next()).expect("a block of commands");
    let stage = Stage::new("readme");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::os::unix::fs::symlink(root.join("docs"), stage.folder.join("docs")).expect("linked");
    let mut played = 0;
    for line in block.lines().filter_map(|line| line.strip_prefix("$ stagger ")) {
        let line = line.split(" # ").next().unwrap_or(line).trim_end();
        let output = stage.play(&format!("stagger {line}"));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{line}: {said}");
        played += 1;
    }
    assert_eq!(played, 6);
    assert!(README.contains("cargo install --path crates/cli"));
}
