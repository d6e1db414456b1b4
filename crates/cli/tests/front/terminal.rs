//! Colours: on a terminal only, and not where NO_COLOR says so.

use std::fs::File;
use std::io::Read;
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::tool::{folder, stagger};

/// The beginning of a change of colour or weight.
const STYLE: &str = "\x1b[";

/// Both streams as a terminal shows them.
fn on_terminal(args: &[&str], no_color: bool) -> String {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&ours).expect("granted");
    unlockpt(&ours).expect("unlocked");
    let name = ptsname(&ours, Vec::new()).expect("a name").into_string().expect("ASCII");
    let theirs = || File::options().read(true).write(true).open(&name).expect("it opens");
    let mut command = stagger(args);
    command.env("TERM", "xterm-256color").env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    if no_color {
        command.env("NO_COLOR", "1");
    }
    command.stdin(Stdio::null()).stdout(theirs()).stderr(theirs());
    let mut child = command.spawn().expect("the binary was built for this test");
    drop(command);
    let mut shown = Vec::new();
    // A terminal that nobody writes to any more is an error to its reader, and not an end.
    let _ = File::from(ours).read_to_end(&mut shown);
    child.wait().expect("it ends");
    String::from_utf8_lossy(&shown).into_owned()
}

/// Something of every command that ends by itself.
fn with_every_command(test: &str, mut each: impl FnMut(&[&str])) {
    let folder = folder(test);
    let (policy, data) = (folder.join("policy.toml"), folder.join("data"));
    std::fs::write(&policy, "backoff.jitter = 'none'\n").expect("writable");
    let (policy, data) = (policy.display().to_string(), data.display().to_string());
    let cases: [&[&str]; 12] = [
        &["--help"],
        &["storm", "--cllers", "1"],
        &["storm", "list"],
        &["storm", "--runs", "1", "--callers", "100"],
        &["storm", "--policy", "/nowhere.toml"],
        &["lint", &policy],
        &["exec", "--attempts", "2", "--base", "1ms", "--", "false"],
        &["http", "--attempts", "2", "--base", "1ms", "http://127.0.0.1:1/"],
        &["serve", "--check"],
        &["store", "check", "--data", &data],
        &["completions", "fish"],
        &["man"],
    ];
    for args in cases {
        each(args);
    }
    std::fs::remove_dir_all(folder).expect("ours");
}

#[test]
fn no_color_is_obeyed_by_every_command() {
    with_every_command("no-color", |args| {
        let shown = on_terminal(args, true);
        assert!(!shown.is_empty() && !shown.contains(STYLE), "{args:?}: {shown:?}");
    });
}

#[test]
fn no_terminal_no_colours() {
    with_every_command("no-terminal", |args| {
        let output = stagger(args).output().expect("the binary was built for this test");
        let shown = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(!shown.is_empty() && !shown.contains(STYLE), "{args:?}: {shown:?}");
    });
}

#[test]
fn a_terminal_gets_colours() {
    // What the other tests look for is there to be found.
    assert!(on_terminal(&["--help"], false).contains(STYLE));
}
