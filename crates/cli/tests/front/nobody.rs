//! A reader that has gone away (`| head -1`) is no failure, and no panic.

use std::process::Stdio;

use crate::tool::{folder, stagger};

#[test]
fn a_closed_pipe_was_a_panic() {
    let folder = folder("nobody");
    let policy = folder.join("policy.toml");
    std::fs::write(&policy, "limits.max_attempts = 4\n").expect("writable");
    let policy = policy.display().to_string();
    let cases: [&[&str]; 9] = [
        &["--help"],
        &["storm", "-h"],
        &["storm", "list"],
        &["storm", "--runs", "1", "--callers", "100"],
        &["storm", "--runs", "1", "--callers", "100", "--format", "json"],
        &["completions", "bash"],
        &["man"],
        &["lint", &policy],
        &["exec", "--", "echo", "gone"],
    ];
    for args in cases {
        // A pipe whose other end is closed before anything is written.
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = stagger(args);
        command.stdout(Stdio::from(writer)).stderr(Stdio::piped());
        let output = command.output().expect("the binary was built for this test");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!said.contains("panicked") && !said.contains("os error"), "{args:?}: {said}");
        assert!(
            output.status.code().is_some_and(|code| code != 101 && code != 2),
            "{args:?}: {output:?}"
        );
    }
    std::fs::remove_dir_all(folder).expect("ours");
}

#[test]
fn quiet_says_nothing_beside_the_page() {
    let storm = ["storm", "--runs", "1", "--callers", "100"];
    let loud = stagger(&storm).output().expect("the binary was built for this test");
    assert!(!loud.stderr.is_empty(), "it says how long it took");
    let quiet = stagger(&[&storm[..], &["-q"]].concat()).output().expect("built");
    assert!(quiet.stderr.is_empty(), "{}", String::from_utf8_lossy(&quiet.stderr));
    assert_eq!(quiet.stdout, loud.stdout);
}
