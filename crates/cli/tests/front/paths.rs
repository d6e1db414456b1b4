//! Names of files as the system has them: with `#` in them, and with bytes that are no text.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::tool::{folder, stagger};

const WHOLE: &str = "backoff = { base = '10ms', cap = '20ms' }\nlimits.attempt_timeout = '1s'\n";
const SCENARIO: &str = "\
[[arrivals]]
kind = 'poisson'
rate = 10
until = '1s'
[server]
service = '1ms'
workers = 10
[laws]
names = ['full']
";
const SERVICE_CONFIG: &str = include_str!("../../../import/tests/samples/grpc.json");

/// `caf\xe9` with an ending: a name in Latin-1.
fn latin(ending: &str) -> OsString {
    OsString::from_vec([b"caf\xe9", ending.as_bytes()].concat())
}

fn run(folder: &Path, args: &[&str], file: &OsString, rest: &[&str]) -> Output {
    let mut command: Command = stagger(args);
    command.arg(file).args(rest).current_dir(folder).env_remove("STAGGER_ATTEMPT");
    command.output().expect("the binary was built for this test")
}

/// The commands that read a policy, with what comes before and behind its file.
const READERS: [(&[&str], &[&str]); 5] = [
    (&["explain"], &[]),
    (&["lint"], &[]),
    (&["exec", "--policy"], &["--", "true"]),
    (&["storm", "--runs", "1", "--callers", "10", "--policy"], &[]),
    (&["http", "--policy"], &["--quiet", "--max-time", "1s", "http://127.0.0.1:1/"]),
];

#[test]
fn a_name_behind_a_whole_policy_was_ignored() {
    let folder = folder("no-such-policy");
    fs::write(folder.join("p.toml"), WHOLE).expect("written");
    for (args, rest) in READERS {
        let output = run(&folder, args, &"p.toml#typo".into(), rest);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{args:?}: {said}");
        let why = "p.toml: there is no [policy.typo]: the file is one policy without a name";
        assert!(said.contains(why), "{args:?}: {said}");
    }
    fs::remove_dir_all(folder).expect("ours");
}

#[test]
fn a_file_with_a_number_sign_or_without_utf_8_in_its_name_was_refused() {
    let folder = folder("odd-names");
    for name in ["p#1.toml".into(), latin(".toml")] {
        fs::write(folder.join(&name), WHOLE).expect("written");
        for (args, rest) in READERS {
            let output = run(&folder, args, &name, rest);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            // Nothing listens on port 1, which is curl's 7; everything else succeeds.
            let code = if args[0] == "http" { 7 } else { 0 };
            assert_eq!(output.status.code(), Some(code), "{args:?} {name:?}: {said}");
        }
    }
    fs::remove_dir_all(folder).expect("ours");
}

#[test]
fn scenarios_bodies_and_settings_of_other_products_may_have_any_name() {
    let folder = folder("odd-files");
    fs::write(folder.join(latin(".toml")), SCENARIO).expect("written");
    let played = run(&folder, &["storm", "--runs", "1"], &latin(".toml"), &[]);
    assert!(played.status.success(), "{}", String::from_utf8_lossy(&played.stderr));
    fs::write(folder.join(latin(".json")), SERVICE_CONFIG).expect("written");
    let imported = run(&folder, &["import"], &latin(".json"), &[]);
    assert!(imported.status.success(), "{}", String::from_utf8_lossy(&imported.stderr));
    let body = OsString::from_vec([b"@caf\xe9", ".json".as_bytes()].concat());
    let sent = run(&folder, &["http", "-q", "-d"], &body, &["http://127.0.0.1:1/"]);
    assert_eq!(sent.status.code(), Some(7), "{}", String::from_utf8_lossy(&sent.stderr));
    fs::remove_dir_all(folder).expect("ours");
}

#[test]
fn an_argument_that_must_be_text_was_refused_without_its_name() {
    let folder = folder("text-only");
    fs::write(folder.join(latin(".toml")), WHOLE).expect("written");
    for format in ["json", "sarif", "github"] {
        let output = run(&folder, &["lint", "--format", format], &latin(".toml"), &[]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("caf\u{fffd}.toml: the name is not UTF-8"), "{said}");
    }
    for args in [&["storm", "--sweep"][..], &["serve", "--check", "--data"], &["choose", "--slo"]] {
        let output = run(&folder, args, &latin(""), &[]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("'caf\u{fffd}' is not UTF-8"), "{args:?}: {said}");
    }
    fs::remove_dir_all(folder).expect("ours");
}
