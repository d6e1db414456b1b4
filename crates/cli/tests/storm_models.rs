//! Parts of servers and users that ship as scenario files: played by their names, with what each of them shows.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The scenario, its row that fails and one that does not.
const MODELS: [(&str, &str, &str); 9] = [
    ("failover", "least requests", "two choices, ejection"),
    ("shedding", "as it was", "a queue of 300"),
    ("crash-loop", "as it was", "a budget"),
    ("autoscaling", "as it was", "faster, and a queue of 300"),
    ("cold-cache", "as it was", "what cannot be in time is dropped"),
    ("reclicks", "one attempt", "one attempt, and the server hears of it"),
    ("steps", "full", "no-retry"),
    ("heavy-tail", "no-retry", "exponential"),
    ("order", "oldest first", "newest first"),
];

fn json(args: &[&str]) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stagger"));
    let output = command.arg("storm").args(args).args(["--format", "json"]).output();
    let output = output.expect("the binary was built for this test");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON value")
}

#[track_caller]
fn success(page: &Value, name: &str) -> f64 {
    let mut rows = page["rows"].as_array().expect("rows").iter();
    let row = rows.find(|row| row["law"] == name).unwrap_or_else(|| panic!("no row {name}"));
    row["success"].as_f64().expect("a share")
}

#[test]
fn a_model_had_no_page_no_file_or_no_difference_between_its_rows() {
    let list = json(&["list"]);
    let listed: Vec<&str> =
        list.as_array().expect("a list").iter().filter_map(|it| it["name"].as_str()).collect();
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(crate_folder.join("../../docs/models.md")).expect("there");
    for (name, fails, works) in MODELS {
        assert!(listed.contains(&name), "{name}");
        assert!(page.contains(&format!("$ stagger storm {name}\n")), "{name} has no command");
        let played = json(&[name, "--runs", "1"]);
        let (low, high) = (success(&played, fails), success(&played, works));
        assert!(low + 0.005 < high, "{name}: {low} {high}");
        // All but one of them are about storms that do not end, or about most of the calls.
        assert!(high > 0.74, "{name}: {high}");
    }
    let shipped = fs::read_dir(crate_folder.join("scenarios/models")).expect("a folder").count();
    assert_eq!(shipped, MODELS.len());
}

#[test]
fn a_reader_of_the_page_met_other_figures() {
    let page = json(&["order", "--runs", "2"]);
    for (row, served) in
        [("oldest first", 0.083), ("first tries first", 0.749), ("adaptive", 0.937)]
    {
        let found = success(&page, row);
        assert!((found - served).abs() < 0.001, "{row}: {found}");
    }
}
