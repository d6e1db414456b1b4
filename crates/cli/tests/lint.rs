//! `stagger lint` as CI runs it: codes, places, exit codes, and what is refused.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::Value;
use stagger_explain::Code;

const EVERY_FAULT: &str = include_str!("lint/every-fault.toml");
const EVERY_ROUTE_FAULT: &str = include_str!("lint/every-route-fault.toml");
const DOCS: &str = include_str!("../../../docs/lint.md");

/// The folder of the files, so that messages have short names for them.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lint")
}

fn lint(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stagger"));
    command.current_dir(folder()).arg("lint").args(args);
    command.output().expect("the binary was built for this test")
}

/// The same with a text on standard input.
fn lint_text(text: impl AsRef<[u8]>, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stagger"));
    command.args(["lint", "-"]).args(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary was built for this test");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(text.as_ref()).expect("it is read to its end");
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("it ends by itself")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("one JSON value")
}

/// Code, line and column of each finding.
fn places(page: &Value) -> Vec<(String, u64, u64)> {
    let findings = page["findings"].as_array().expect("a list").iter();
    let place = |finding: &Value| {
        let number = |key: &str| finding[key].as_u64().expect("a number");
        let code = finding["code"].as_str().expect("a name").to_owned();
        (code, number("line"), number("column"))
    };
    findings.map(place).collect()
}

fn codes(page: &Value) -> Vec<String> {
    places(page).into_iter().map(|(code, ..)| code).collect()
}

#[test]
fn each_fault_is_found_once_and_where_it_stands() {
    let output = lint(&["every-fault.toml", "--format", "json"]);
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    let found = places(&json(&output));
    let codes: Vec<Code> = Code::ALL.iter().copied().filter(|code| !of_route(*code)).collect();
    each_once(EVERY_FAULT, &found, &codes);
}

/// Whether a code is a fault of a proxy's route, which a file of policies cannot have.
fn of_route(code: Code) -> bool {
    code.name().starts_with("route-")
}

/// Each code is found once, at the line below the comment with its name.
fn each_once(text: &str, found: &[(String, u64, u64)], codes: &[Code]) {
    for code in codes {
        let comment = format!("# {code}");
        let above = text.lines().position(|line| line == comment);
        let above = above.unwrap_or_else(|| panic!("no line is there for {code}"));
        let written = text.lines().nth(above + 1).expect("a line below the comment");
        let of: Vec<_> = found.iter().filter(|(name, ..)| name == code.name()).collect();
        let [(_, line, column)] = of[..] else { panic!("{code}: {of:?}") };
        assert_eq!(*line, above as u64 + 2, "{code}");
        assert!((1..=written.len() as u64).contains(column), "{code}: column {column}");
    }
    assert_eq!(found.len(), codes.len(), "{found:?}");
}

#[test]
fn each_fault_of_a_route_is_found_once_and_where_it_stands() {
    let output = lint(&["every-route-fault.toml", "--format", "json"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let codes: Vec<Code> = Code::ALL.iter().copied().filter(|code| of_route(*code)).collect();
    each_once(EVERY_ROUTE_FAULT, &places(&json(&output)), &codes);
}

#[test]
fn every_fault_as_people_read_it() {
    let output = lint(&["every-fault.toml"]);
    assert_eq!(code(&output), 1);
    assert_eq!(stderr(&output), "");
    insta::assert_snapshot!("every-fault", stdout(&output));
}

#[test]
fn every_fault_as_programs_read_it() {
    let output = lint(&["every-fault.toml#in-step", "every-fault.toml#long", "--format", "json"]);
    insta::assert_snapshot!("json", stdout(&output));
}

#[test]
fn a_clean_file_is_clean() {
    for args in [&["clean.toml"][..], &["clean.toml", "--deny", "warnings"]] {
        let output = lint(args);
        assert_eq!(stdout(&output), "2 policies: 0 errors, 0 warnings\n");
        assert_eq!((code(&output), stderr(&output)), (0, String::new()));
    }
}

#[test]
fn warnings_fail_only_when_they_are_denied() {
    let text = "limits = { attempt_timeout = '1s' }\nbudget = 'unlimited'\n";
    let output = lint_text(text, &[]);
    assert_eq!(code(&output), 0);
    assert!(stdout(&output).contains("warning[no-budget]"), "{}", stdout(&output));
    assert!(stdout(&output).contains(" --> standard input:2:10"), "{}", stdout(&output));
    assert_eq!(code(&lint_text(text, &["--deny", "warnings"])), 1);
    assert_eq!(code(&lint_text("backoff.jitter = 'none'", &[])), 1);
}

#[test]
fn a_key_that_is_not_written_is_shown_at_its_table_or_its_header() {
    let place = |text: &str| places(&json(&lint_text(text, &["--format", "json"])));
    let hanging = |line, column| vec![("no-attempt-timeout".to_owned(), line, column)];
    // The table, the header, a table that only its inner ones imply, a dotted key, a whole file.
    assert_eq!(place("[policy.a]\n[policy.a.limits]\nmax_attempts = 2"), hanging(2, 1));
    assert_eq!(place("\n[policy.a]\nbackoff.base = '1s'"), hanging(2, 1));
    assert_eq!(place("[policy.a.backoff]\nbase = '1s'"), hanging(1, 9));
    assert_eq!(place("[policy]\na.limits.max_attempts = 2"), hanging(2, 3));
    assert_eq!(place("# all defaults"), hanging(1, 1));
    assert_eq!(place("policy = { 'é' = { limits = {} } }"), hanging(1, 29));
}

#[test]
fn what_is_known_of_the_calls_stands_in_the_file_and_flags_win() {
    let text =
        "[policy.a]\nlimits.attempt_timeout = '1s'\nhints.max = '200ms'\n[calls.a]\nslo = '4s'\n";
    let found =
        |args: &[&str]| codes(&json(&lint_text(text, &[args, &["--format", "json"]].concat())));
    assert_eq!(found(&[]), ["over-slo-third"]);
    assert_eq!(found(&["--slo", "2s"]), ["over-slo"]);
    assert_eq!(found(&["--slo", "1m"]), [""; 0]);
    assert_eq!(found(&["--slo", "1m", "--idempotent=false"]), ["not-idempotent"]);
    assert_eq!(found(&["--slo", "1m", "--idempotent", "--layers", "2"]), ["nested-layers"]);
    let fleet = ["--slo", "1m", "--rps", "5", "--fleet", "100", "--downstream-capacity", "600"];
    assert_eq!(found(&fleet), ["fleet-budget"]);
}

#[test]
fn the_policies_of_a_proxys_routes_were_not_looked_at() {
    let routes = "[proxy]\nlisten = '127.0.0.1:7878'\n\
                  [policy.shared]\nbackoff = { jitter = 'none' }\n\
                  [route.good]\nupstream = 'http://a'\npolicy = 'shared'\n\
                  [route.bad]\nupstream = 'http://b'\npath = '/b/'\n\
                  [route.bad.policy]\nbackoff = { jitter = 'none', base = '1s' }\n";
    let page = json(&lint_text(routes, &["--format", "json"]));
    let found = places(&page);
    let of = |line| found.iter().any(|(code, at, _)| code == "no-jitter" && *at == line);
    assert!(of(4) && of(12), "{found:?}");
    assert_eq!(page["policies"], 2);
    let only = json(&lint_text("[route.a]\nupstream = 'http://a'", &["--format", "json"]));
    assert_eq!((&only["policies"], &only["errors"]), (&1.into(), &0.into()), "{only}");
    let wrong = "[route.a]\nupstream = 'http://a'\npolicy = { limits = { max_attemps = 2 } }";
    let wrong = json(&lint_text(wrong, &["--format", "json"]));
    assert!(wrong.to_string().contains("did you mean `max_attempts`"), "{wrong}");
}

#[test]
fn what_is_accepted_is_not_told_and_what_is_not_there_cannot_be_accepted() {
    let file = |allow: &str| {
        format!(
            "[policy.a]\nbudget = 'unlimited'\nlimits.attempt_timeout = '1s'\n[calls.a]\nallow = {allow}\n"
        )
    };
    let clean = lint_text(file("['no-budget']"), &["--deny", "warnings"]);
    assert_eq!((code(&clean), stdout(&clean)), (0, "1 policy: 0 errors, 0 warnings\n".to_owned()));
    let stale = lint_text(file("['no-budget', 'no-jitter']"), &["--format", "json"]);
    assert_eq!(places(&json(&stale)), [("unused-allow".to_owned(), 5, 23)]);
    for (allow, said) in [
        (
            "['no-budgt']",
            "calls.a.allow = no-budgt: must be the code of a finding; did you mean no-budget?",
        ),
        ("['hurricane']", "must be the code of a finding, as docs/lint.md lists them"),
        ("['unused-allow']", "calls.a.allow = unused-allow: must be another code than this"),
        ("[1]", "calls.a.allow = 1: must be the code of a finding, in quotes"),
        ("'no-budget'", "calls.a.allow = no-budget: must be a list"),
    ] {
        let output = lint_text(file(allow), &[]);
        assert_eq!(code(&output), 2);
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
        assert!(stderr(&output).contains("standard input:5:"), "{}", stderr(&output));
    }
}

#[test]
fn what_cannot_be_read_or_parsed_is_refused_where_it_is_wrong() {
    for (text, said, place) in [
        ("[limits]\nmax_attemps = 3", "did you mean `max_attempts`?", "2:1"),
        ("[policy.a]\nlimit = {}", "policy.a: unknown field `limit`", "2:1"),
        (
            "[policy.a]\nlimits.max_attempts = 0",
            "policy.a.limits.max_attempts = 0: must be",
            "2:23",
        ),
        ("backoff = { base = 3 }", "invalid type: integer `3`", "1:20"),
        ("limits = 3", "invalid type: integer `3`, expected a table", "1:10"),
        ("hints.spread = 2", "hints.spread = 2: must be from 0 to 1", "1:16"),
        ("a = = 1", "extra `=`", "1:5"),
        ("[polcy.a]", "unknown key polcy: did you mean policy?", "1:2"),
        ("[policy.a]\n[cals.a]", "unknown key cals: did you mean calls?", "2:2"),
        (
            "[policy.shop]\n[calls.shpo]",
            "[calls.shpo] is of no [policy.shpo]: did you mean shop?",
            "2:1",
        ),
        (
            "[policy.a]\n[calls.a]\nsloo = '1s'",
            "unknown key calls.a.sloo: did you mean slo?",
            "3:1",
        ),
        ("[policy.a]\n[calls.a]\nslo = '0s'", "calls.a.slo = 0s: must be more than 0s", "3:7"),
        ("[policy.a]\n[calls.a]\nrps = -1", "calls.a.rps = -1: must be a number", "3:7"),
        (
            "[policy.a]\n[calls.a]\nfleet = 1.5",
            "calls.a.fleet = 1.5: must be a whole number",
            "3:9",
        ),
        ("[policy.a]\n[calls.a]\nlayers = 99", "calls.a.layers = 99: must be", "3:10"),
        ("[policy.a]\n[calls.a]\nidempotent = 'no'", "must be true or false", "3:14"),
        ("[policy.a]\n[calls]\na = 1", "calls.a: must be a table", "3:5"),
        ("[policy]", "there is no [policy.NAME] in it", "1:1"),
        ("policy = 1", "policy = 1: must be a table", "1:10"),
    ] {
        let output = lint_text(text, &[]);
        assert_eq!(code(&output), 2, "{text}");
        let message = stderr(&output);
        assert!(message.contains(said), "{said} is not in: {message}");
        assert!(message.contains(&format!("standard input:{place}\n")), "{text}: {message}");
        assert_eq!(message.matches("error:").count(), 1, "{message}");
        assert!(message.contains('^'), "{message}");
    }
}

#[test]
fn a_file_that_is_none_is_refused_in_one_line() {
    let missing = lint(&["nowhere.toml"]);
    assert_eq!(code(&missing), 2);
    assert!(stderr(&missing).starts_with("error: nowhere.toml: "), "{}", stderr(&missing));
    assert!(missing.stdout.is_empty());
    let binary = lint_text(b"a = 1\nb = '\xff'", &[]);
    assert_eq!(
        (code(&binary), stderr(&binary).as_str()),
        (2, "error: standard input:2: is not UTF-8\n")
    );
}

#[test]
fn a_mistake_hides_neither_the_others_nor_the_findings() {
    let text = "
[policy.in-step]
backoff.jitter = 'none'
limits.attempt_timeout = '1s'
[policy.twice-wrong]
hints = { spread = 7 }
limits = { max_attemps = 3 }
budgt = 'none'
[policy.no-toml]
limits = { attempt_timeout = 5s }
[policy.late.limits]
max_attempts = 2
";
    let output = lint_text(text, &["--format", "json"]);
    assert_eq!(code(&output), 2);
    assert_eq!(codes(&json(&output)), ["no-jitter", "no-attempt-timeout"]);
    let refused = json(&output)["refused"].clone();
    let lines: Vec<u64> = refused
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|flaw| flaw["line"].as_u64())
        .collect();
    assert_eq!(lines, [6, 7, 8, 10]);
    assert_eq!(stderr(&output).matches("error: ").count(), 4);
    // One file does not hide another either.
    let output = lint(&["nowhere.toml", "every-fault.toml#in-step", "clean.toml#none"]);
    assert_eq!(code(&output), 2);
    assert!(stdout(&output).contains("error[no-jitter]"));
    assert!(stderr(&output).contains("clean.toml: there is no [policy.none]: there are"));
}

#[test]
fn flags_that_are_wrong_are_refused_by_name() {
    for (args, said) in [
        (&["--slo", "2"][..], "--slo"),
        (&["--slo", "0s"], "must be more than 0s"),
        (&["--rps", "-1"], "--rps"),
        (&["--rps", "NaN"], "must be a number from"),
        (&["--fleet", "0"], "must be a whole number from 1"),
        (&["--layers", "17"], "from 1 to 16"),
        (&["--idempotent=maybe"], "--idempotent"),
        (&["--deny", "errors"], "--deny"),
        (&["--formt", "json"], "--format"),
    ] {
        let output = lint(&[&["clean.toml"], args].concat());
        assert_eq!(code(&output), 2, "{args:?}");
        assert!(stderr(&output).contains(said), "{args:?}: {}", stderr(&output));
        assert!(output.stdout.is_empty());
    }
    assert_eq!(code(&lint(&[])), 2);
}

#[test]
fn what_a_file_says_cannot_steer_a_terminal() {
    let output = lint(&["every-fault.toml", "nowhere.toml"]);
    assert!(!stdout(&output).contains('\x1b') && !stderr(&output).contains('\x1b'));
    let output = lint_text("[policy.\"\\u001b[31m\"]\nlimits.attempt_timeout = '\x1b[31m'", &[]);
    assert!(!stdout(&output).contains('\x1b') && !stderr(&output).contains('\x1b'));
}

/// The output on a terminal.
fn on_terminal(variables: &[(&str, &str)]) -> String {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&ours).expect("granted");
    unlockpt(&ours).expect("unlocked");
    let name = ptsname(&ours, Vec::new()).expect("a name").into_string().expect("ASCII");
    let theirs = File::options().read(true).write(true).open(name).expect("open");
    let mut command = Command::new(env!("CARGO_BIN_EXE_stagger"));
    command.current_dir(folder()).args(["lint", "every-fault.toml#in-step"]);
    command.env_remove("NO_COLOR").env("TERM", "xterm").envs(variables.iter().copied());
    command.stdin(Stdio::null()).stdout(theirs).stderr(Stdio::null());
    let mut child = command.spawn().expect("the binary was built for this test");
    drop(command);
    let mut shown = Vec::new();
    // A terminal that nobody writes to any more is an error to its reader, and not an end.
    let _ = File::from(ours).read_to_end(&mut shown);
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
    String::from_utf8(shown).expect("UTF-8")
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    assert!(on_terminal(&[]).contains("\x1b["));
    for refused in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let plain = on_terminal(&[refused]);
        assert!(plain.contains("error[no-jitter]") && !plain.contains('\x1b'), "{refused:?}");
    }
    assert!(on_terminal(&[("NO_COLOR", "")]).contains("\x1b["));
}

#[test]
fn each_code_is_documented() {
    let rows: Vec<&str> = DOCS.lines().filter_map(|line| line.strip_prefix("| `")).collect();
    let documented: Vec<&str> = rows.iter().filter_map(|row| row.split('`').next()).collect();
    let all: Vec<&str> = Code::ALL.iter().map(|code| code.name()).collect();
    assert_eq!(documented.iter().filter(|name| all.contains(name)).count(), all.len());
    for name in all {
        assert!(documented.contains(&name), "{name} has no row in docs/lint.md");
    }
}

#[test]
fn the_documented_example_says_what_is_documented() {
    let mut blocks = DOCS.split("```toml\n").skip(1).filter_map(|block| block.split("```").next());
    let example = blocks.next().expect("an example");
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("policies.toml");
    fs::write(&path, example).expect("written");
    let output = lint(&[&path.display().to_string()]);
    let shown = stdout(&output).replace(&path.display().to_string(), "policies.toml");
    let documented = DOCS.split("```text\n").nth(1).and_then(|block| block.split("```").next());
    assert_eq!(Some(shown.as_str()), documented);
}
