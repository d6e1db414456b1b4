//! `stagger lint` for programs: JSON, SARIF, annotations of a workflow; whole folders, and JSON policies.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;
use stagger_explain::Code;

/// A folder of its own with these files.
fn folder(test: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("lint-reports").join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("a folder");
        fs::write(path, text).expect("written");
    }
    folder
}

fn stagger(folder: &PathBuf, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stagger"));
    command.args(args).current_dir(folder).output().expect("the binary was built for this test")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("one JSON value")
}

const MIXED: &str = "\
[policy.a]
backoff.jitter = 'none'
limits.attempt_timeout = '1s'
[policy.b]
limits = { max_attemps = 3 }
";

#[test]
fn a_file_that_cannot_be_read_looked_like_a_clean_one_to_programs() {
    let folder = folder("unread", &[("clean.toml", "[policy.a.limits]\nattempt_timeout = '1s'\n")]);
    for asked in ["nowhere.toml", "clean.toml#nobody"] {
        let output = stagger(&folder, &["lint", asked, "--format", "json"]);
        let page = json(&output);
        assert_eq!((output.status.code(), &page["errors"]), (Some(2), &1.into()), "{page}");
        assert_eq!(page["unread"][0]["file"], asked.split('#').next().expect("a file"));
        assert!(page["unread"][0]["message"].as_str().is_some_and(|it| it.contains("o")), "{page}");
        let sarif = json(&stagger(&folder, &["lint", asked, "--format", "sarif"]));
        let invocation = &sarif["runs"][0]["invocations"][0];
        assert_eq!(invocation["executionSuccessful"], false);
        assert_eq!(invocation["toolExecutionNotifications"][0]["level"], "error");
        let github = stdout(&stagger(&folder, &["lint", asked, "--format", "github"]));
        assert!(github.starts_with("::error file="), "{github}");
    }
}

#[test]
fn mistakes_of_files_are_counted_as_errors() {
    let folder = folder("mixed", &[("p.toml", MIXED)]);
    let page = json(&stagger(&folder, &["lint", "p.toml", "--format", "json"]));
    assert_eq!((&page["errors"], &page["policies"]), (&2.into(), &1.into()));
    assert_eq!(page["unread"], Value::Array(Vec::new()));
}

#[test]
fn sarif_has_the_rules_the_places_and_what_is_no_policy() {
    let folder = folder("sarif", &[("my policies.toml", MIXED)]);
    let output = stagger(&folder, &["lint", "my policies.toml", "--format", "sarif"]);
    assert_eq!(output.status.code(), Some(2));
    let log = json(&output);
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().expect("a list");
    assert_eq!(rules.len(), Code::ALL.len() + 1);
    let about = rules.iter().find(|rule| rule["id"] == "no-jitter").expect("a rule");
    assert_eq!(about["shortDescription"]["text"], "Callers that fail together come back together.");
    let results = run["results"].as_array().expect("a list");
    let place = |result: &Value| {
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "my%20policies.toml");
        let region = |key: &str| place["region"][key].as_u64().expect("a number");
        let rule = result["ruleId"].as_str().expect("a name").to_owned();
        (
            rule,
            result["level"].clone(),
            region("startLine"),
            region("startColumn"),
            region("endColumn"),
        )
    };
    let places: Vec<_> = results.iter().map(place).collect();
    assert_eq!(
        places,
        [
            ("invalid-policy".to_owned(), "error".into(), 5, 12, 23),
            ("no-jitter".to_owned(), "error".into(), 2, 18, 24),
        ]
    );
    for result in results {
        assert!(rules.iter().any(|rule| rule["id"] == result["ruleId"]));
        assert!(!result["message"]["text"].as_str().expect("a text").is_empty());
    }
}

#[test]
fn annotations_name_file_line_and_column_and_escape_the_rest() {
    let folder = folder("github", &[("a,b:c.toml", MIXED)]);
    let output = stagger(&folder, &["lint", "a,b:c.toml", "--format", "github"]);
    let page = stdout(&output);
    let lines: Vec<&str> = page.lines().collect();
    assert!(
        lines[0]
            .starts_with("::error file=a%2Cb%3Ac.toml,line=5,col=12,title=invalid policy file::")
    );
    assert!(
        lines[1].starts_with(
            "::error file=a%2Cb%3Ac.toml,line=2,col=18,title=no-jitter in policy a::no jitter: "
        ),
        "{page}"
    );
    assert!(lines[1].ends_with("Fix: jitter = \"full\""), "{page}");
    assert_eq!(lines[2], "1 policy: 1 error, 0 warnings");
    let percent = "budget.window = { ratio = 0.6 }\nlimits.attempt_timeout = '1s'\n";
    fs::write(folder.join("p.toml"), percent).expect("written");
    let page = stdout(&stagger(&folder, &["lint", "p.toml", "--format", "github"]));
    assert!(page.contains("60 %25 of the load"), "{page}");
}

#[test]
fn a_folder_is_all_its_policy_files_and_no_other_file() {
    let folder = folder(
        "folder",
        &[
            ("all/b.toml", "backoff.jitter = 'none'\nlimits.attempt_timeout = '1s'\n"),
            (
                "all/a/deep.json",
                r#"{"policy": {"x": {"limits": {"max_attempts": 21, "attempt_timeout": "1s"}}}}"#,
            ),
            ("all/Cargo.toml", "[package]\nname = 'x'\n"),
            ("all/package.json", "{\"name\": \"x\"}"),
            ("all/.hidden/p.toml", "backoff.jitter = 'none'\n"),
            ("all/notes.txt", "backoff.jitter = 'none'\n"),
            ("none/Cargo.toml", "[package]\n"),
        ],
    );
    let output = stagger(&folder, &["lint", "all", "--format", "json"]);
    assert_eq!(output.status.code(), Some(1));
    let page = json(&output);
    let found = page["findings"].as_array().expect("a list").iter();
    let found: Vec<_> = found.map(|it| (it["file"].clone(), it["code"].clone())).collect();
    let want = [("all/a/deep.json", "too-many-attempts"), ("all/b.toml", "no-jitter")];
    assert_eq!(found, want.map(|(file, code)| (file.into(), code.into())));
    assert_eq!(page["policies"], 2);
    let none = stagger(&folder, &["lint", "none"]);
    assert_eq!(none.status.code(), Some(2));
    let said = String::from_utf8_lossy(&none.stderr).into_owned();
    assert!(said.starts_with("error: none: no file in it holds policies"), "{said}");
}

#[test]
fn what_choose_and_import_wrote_as_json_could_not_be_read_back() {
    let config = r#"{"methodConfig": [{"name": [{"service": "a.B"}], "timeout": "10s", "retryPolicy": {
        "maxAttempts": 4, "initialBackoff": "1s", "maxBackoff": "4s", "backoffMultiplier": 2,
        "retryableStatusCodes": ["UNAVAILABLE"]}}]}"#;
    let folder = folder("json", &[("config.json", config)]);
    let keep = |args: &[&str], name: &str| {
        let written = stagger(&folder, args);
        fs::write(folder.join(name), &written.stdout).expect("written");
    };
    keep(&["choose", "--defaults", "--idempotent", "--format", "json"], "chosen.json");
    keep(&["choose", "--defaults", "--idempotent", "--format", "toml"], "chosen.toml");
    keep(&["import", "config.json", "--format", "json"], "imported.json");
    assert_eq!(stagger(&folder, &["lint", "chosen.json"]).status.code(), Some(0));
    let explained = |file: &str| json(&stagger(&folder, &["explain", file, "--format", "json"]));
    let (from_json, from_toml) = (explained("chosen.json"), explained("chosen.toml"));
    assert_eq!(from_json["attempts"], from_toml["attempts"]);
    assert_eq!(from_json["worst_case_ms"], from_toml["worst_case_ms"]);
    assert_eq!(explained("imported.json#a.B")["attempts"].as_array().map(Vec::len), Some(4));
    let exec =
        ["exec", "--policy", "imported.json#a.B", "--base", "1ms", "--cap", "1ms", "--", "false"];
    let ran = stagger(&folder, &exec);
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(said.contains("of 4"), "{said}");
}

#[test]
fn a_mistake_in_json_is_shown_at_its_place() {
    let refused = |text: &str| {
        let folder = folder("wrong", &[("p.json", text)]);
        let output = stagger(&folder, &["lint", "p.json"]);
        assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
        String::from_utf8(output.stderr).expect("UTF-8")
    };
    let said = refused("{\n  \"limits\": { \"max_attempts\": 0 }\n}");
    assert!(
        said.contains("limits.max_attempts = 0: must be") && said.contains("p.json:2:31"),
        "{said}"
    );
    let said = refused("{\"policy\": {\"a\": {\"limts\": {}}}}");
    assert!(said.contains("did you mean `limits`?") && said.contains("p.json:1:19"), "{said}");
    let said = refused("{\n\"limits\": }");
    assert!(said.contains("is no JSON: expected value") && said.contains("p.json:2:"), "{said}");
}
