//! The SARIF output of `stagger lint` under the schema of OASIS.

mod schema;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use stagger_explain::Code;

use schema::Schema;

const OASIS: &str = include_str!("../../../../vectors/sarif/sarif-schema-2.1.0.json");
const FAULTS: &str = include_str!("../lint/every-fault.toml");
const ROUTE_FAULTS: &str = include_str!("../lint/every-route-fault.toml");

fn log(test: &str, files: &[&str]) -> Value {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("lint-sarif").join(test);
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("every fault.toml"), FAULTS).expect("written");
    fs::write(folder.join("broken#é.toml"), "[policy.a]\nlimits = 3\n[policy.b\n")
        .expect("written");
    fs::write(folder.join("clean.toml"), "limits.attempt_timeout = '1s'\n").expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_stagger"));
    command.args(["lint", "--format", "sarif"]).args(files).current_dir(&folder);
    let output = command.output().expect("the binary was built for this test");
    serde_json::from_slice(&output.stdout).expect("one JSON value")
}

#[test]
fn no_program_had_checked_the_sarif_against_its_schema() {
    let schema = Schema::of(OASIS);
    let whole = folder_path("absolute");
    let cases: [&[&str]; 4] = [
        &["every fault.toml"],
        &["broken#é.toml", "nowhere.toml", "clean.toml#nobody"],
        &["clean.toml"],
        &[&whole],
    ];
    for files in cases {
        let log = log("absolute", files);
        assert_eq!(schema.faults(&log), Vec::<String>::new(), "{files:?}: {log:#}");
    }
    let every = log("absolute", &["every fault.toml"]);
    assert!(every["runs"][0]["results"].as_array().is_some_and(|it| it.len() > 20));
}

/// The folder of a test, by its whole path.
fn folder_path(test: &str) -> String {
    format!("{}/lint-sarif/{test}", env!("CARGO_TARGET_TMPDIR"))
}

#[test]
fn a_log_that_breaks_the_schema_passed() {
    let schema = Schema::of(OASIS);
    let good = log("broken", &["every fault.toml"]);
    let breaks: [(&str, Value); 6] = [
        ("/version", "2.2.0".into()),
        ("/runs/0/tool", Value::Null),
        ("/runs/0/results/0/level", "fatal".into()),
        ("/runs/0/results/0/message", serde_json::json!({ "txt": "a" })),
        ("/runs/0/results/0/locations/0/physicalLocation/region/startLine", 0.into()),
        ("/runs/0/results/0/locations/0/physicalLocation/artifactLocation/uri", "a b.toml".into()),
    ];
    for (place, value) in breaks {
        let mut broken = good.clone();
        *broken.pointer_mut(place).expect("it is there") = value;
        let faults = schema.faults(&broken);
        assert!(faults.iter().any(|fault| fault.starts_with(place)), "{place}: {faults:?}");
    }
}

/// The blocks of the file, each a policy with one fault, by the names of their files.
fn faults() -> Vec<(String, &'static str)> {
    let blocks = FAULTS.split("\n\n").filter(|block| block.contains("[policy."));
    let named = blocks.enumerate().map(|(number, block)| (format!("{number:02}.toml"), block));
    named.chain([("routes.toml".to_owned(), ROUTE_FAULTS)]).collect()
}

#[test]
fn a_fault_of_a_folder_was_missed_or_told_twice_or_at_another_line() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("lint-sarif/folder");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("faults")).expect("a folder");
    let mut expected = Vec::new();
    for (name, block) in faults() {
        fs::write(folder.join("faults").join(&name), block).expect("written");
        let lines = block.lines().enumerate();
        let named = lines.filter_map(|(line, text)| Some((line, text.strip_prefix("# ")?)));
        let codes = named.filter(|(_, code)| code.parse::<Code>().is_ok());
        // The finding is at the line below, and lines are counted from 1.
        expected.extend(
            codes.map(|(line, code)| (code.to_owned(), format!("faults/{name}"), line + 2)),
        );
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_stagger"));
    let output =
        command.args(["lint", "faults", "--format", "sarif"]).current_dir(&folder).output();
    let log: Value =
        serde_json::from_slice(&output.expect("built for this test").stdout).expect("JSON");
    assert_eq!(Schema::of(OASIS).faults(&log), Vec::<String>::new());
    let results = log["runs"][0]["results"].as_array().expect("a list").iter();
    let mut found: Vec<_> = results
        .map(|result| {
            let place = &result["locations"][0]["physicalLocation"];
            let text = |value: &Value| value.as_str().expect("a text").to_owned();
            let line = place["region"]["startLine"].as_u64().expect("a number");
            let line = usize::try_from(line).expect("a line of a small file");
            (text(&result["ruleId"]), text(&place["artifactLocation"]["uri"]), line)
        })
        .collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    let mut codes: Vec<&str> = Code::ALL.iter().map(|code| code.name()).collect();
    codes.sort_unstable();
    assert_eq!(expected.iter().map(|(code, ..)| code.as_str()).collect::<Vec<_>>(), codes);
}
