//! Outages that ship: played by their names, with the figures that are published or were measured with
//! another program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

const NAMES: [&str; 6] = [
    "github-2026-08",
    "aws-2025-10",
    "cloudflare-2025-09",
    "gcp-2025-06",
    "openai-2024-12",
    "aws-retry-2026",
];

fn storm(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stagger"));
    command.arg("storm").args(args).output().expect("the binary was built for this test")
}

#[track_caller]
fn stdout(args: &[&str]) -> String {
    let output = storm(args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[track_caller]
fn json(args: &[&str]) -> Value {
    serde_json::from_str(&stdout(&[args, &["--format", "json"]].concat())).expect("one JSON value")
}

#[track_caller]
fn row<'p>(page: &'p Value, name: &str) -> &'p Value {
    let mut rows = page["rows"].as_array().expect("rows").iter();
    rows.find(|row| row["law"] == name).unwrap_or_else(|| panic!("no row {name}"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn files() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios")
}

/// A file in a folder of its own.
fn file(test: &str, name: &str, text: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join(name);
    fs::write(&path, text).expect("written");
    path.display().to_string()
}

/// The file of an outage with these rows alone.
fn only(test: &str, outage: &str, rows: &[&str]) -> String {
    let text = fs::read_to_string(files().join(format!("{outage}.toml"))).expect("it ships");
    let (head, rest) = text.split_once("[[row]]").expect("it has rows");
    let (blocks, tail) =
        rest.split_at(rest.find("[policy").or(rest.find("[watch")).unwrap_or(rest.len()));
    let kept = blocks
        .split("[[row]]")
        .filter(|block| rows.iter().any(|row| block.contains(&format!("name = \"{row}\""))));
    let kept: String = kept.map(|block| format!("[[row]]{block}")).collect();
    let start = head.find("names = [").expect("laws");
    let end = start + head[start..].find(']').expect("a list") + 1;
    let head = format!("{}names = []{}", &head[..start], &head[end..]);
    // Policies that no row uses any more would be rows of their own.
    let tail = if rows.iter().any(|row| row.contains("budget") || row.contains("breaker")) {
        tail.to_owned()
    } else {
        tail.find("[watch").map_or_else(String::new, |at| tail[at..].to_owned())
    };
    file(test, &format!("{outage}.toml"), &format!("{head}{kept}{tail}"))
}

#[test]
fn every_outage_is_in_the_list_has_a_page_and_a_file() {
    let list = json(&["list"]);
    let listed: Vec<&str> =
        list.as_array().expect("a list").iter().filter_map(|it| it["name"].as_str()).collect();
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).expect("there");
    for name in NAMES {
        assert!(listed.contains(&name), "{name}");
        let page = fs::read_to_string(docs.join(format!("outages/{name}.md"))).expect(name);
        assert!(page.contains(&format!("stagger storm {name}")), "{name} has no command");
        assert!(summary.contains(&format!("(outages/{name}.md)")), "{name}");
    }
    let shipped = fs::read_dir(files()).expect("a folder");
    let shipped = shipped.filter(|it| it.as_ref().is_ok_and(|it| it.path().is_file())).count();
    assert_eq!(shipped, NAMES.len());
}

#[test]
fn github_as_it_was_is_ten_times_the_calls_and_a_budget_in_both_places_ends_it() {
    let path = only("github", "github-2026-08", &["as it was", "budget at both", "403 for 7 s"]);
    let page = json(&[&path]);
    let rate = number(&row(&page, "no-retry")["calls"]) / 20.0;
    assert!((7_000.0..=9_000.0).contains(&rate), "{rate}");
    let was = row(&page, "as it was");
    let peak = number(&was["peak_rps"]["mean"]);
    assert!((70_000.0..=100_000.0).contains(&peak), "{peak}");
    assert_eq!(was["recovery"], "never");
    assert!(number(&was["success"]) < 0.25, "{was}");
    for recovers in ["no-retry", "budget at both", "403 for 7 s"] {
        assert_eq!(row(&page, recovers)["recovery"], "recovered", "{recovers}");
    }
    let cells = include_str!("../golden/outages.tsv").lines().filter(|line| !line.starts_with('#'));
    for cell in cells {
        let [_, entry, measure, theirs, tolerance, _] = cell.split('\t').collect::<Vec<_>>()[..]
        else {
            panic!("not a cell: {cell}")
        };
        let own = row(&page, entry);
        let ours = match measure {
            "peak" => number(&own["peak_rps"]["mean"]),
            "seconds" => number(&own["time_to_recover_s"]),
            other => number(&own[other]),
        };
        let parse = |text: &str| text.parse::<f64>().expect("a number");
        assert!((ours - parse(theirs)).abs() <= parse(tolerance), "{cell}: {ours}");
    }
}

#[test]
fn google_clouds_restart_recovers_with_jitter_and_not_without() {
    let page = json(&["gcp-2025-06", "--law", "full", "--runs", "1"]);
    let was = row(&page, "as it was");
    assert_eq!(was["recovery"], "never");
    // 2 refusals of 1 ms for each task and second are twice what the ten workers can do.
    assert!(number(&was["success"]) < 0.1, "{was}");
    for recovers in ["full", "full, restarts throttled"] {
        assert_eq!(number(&row(&page, recovers)["success"]), 1.0, "{recovers}");
    }
}

#[test]
fn a_policy_of_the_reader_is_a_row_called_yours() {
    let mine =
        file("yours", "mine.toml", "limits = { max_attempts = 1, attempt_timeout = '2s' }\n");
    let args = ["openai-2024-12", "--law", "full", "--runs", "1", "--policy", &mine];
    let page = json(&args);
    assert_eq!(row(&page, "yours")["amplification"], 1.0);
    let text = stdout(&args);
    assert!(text.contains("'yours' peaks at"), "{text}");
    assert!(
        text.contains("With 5000 calls, for a server that works on 200 attempts a second"),
        "{text}"
    );
}

#[test]
fn the_sentences_are_those_of_the_table() {
    let path = only("sentences", "openai-2024-12", &["as it was", "staged over 60 s"]);
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = words(&stdout(&[&path, "--runs", "1"]));
    assert!(text.contains("'as it was' peaks at"), "{text}");
    assert!(text.contains("What recovers: staged over 60 s ("), "{text}");
    assert!(text.contains("What does not: no-retry ("), "{text}");
    // For a fiftieth of the nodes the same sentences say something else.
    let small =
        fs::read_to_string(&path).expect("written").replace("callers = 5000", "callers = 100");
    let small = file("sentences", "small.toml", &small);
    let text = words(&stdout(&[&small, "--runs", "1"]));
    assert!(text.contains("With 100 calls") && text.contains("What recovers: "), "{text}");
    assert!(!text.contains("What does not"), "{text}");
}

#[test]
fn the_defaults_of_the_sdks_are_the_presets() {
    let page = json(&["aws-retry-2026", "--runs", "1"]);
    let of = |case: &str, name: &str, key: &str| {
        let mut rows = page["rows"].as_array().expect("rows").iter();
        let row = rows.find(|row| row["law"] == name && row["case"].as_str() == Some(case));
        number(&row.unwrap_or_else(|| panic!("{case}, {name}"))[key])
    };
    let (old, new) = ("standard until 2026", "standard since 2026");
    let stall = "fault.1.lasts 2s";
    // The bucket of either lets hardly a retry through; without one the calls multiply.
    assert!(of(stall, old, "amplification") < 1.1 && of(stall, new, "amplification") < 1.1);
    assert!(of(stall, "legacy, C++: 11 attempts", "amplification") > 5.0);
    // A retry that comes sooner serves more of the calls of a short stall.
    assert!(of(stall, new, "success") > of(stall, old, "success"));
    assert!(of("fault.1.lasts 0s", new, "success") > 0.999);
}

#[test]
fn a_row_is_refused_at_its_place() {
    let refusal = |text: &str| {
        let base = "[[arrivals]]\nkind = 'together'\ncallers = 5\n[server]\nworkers = 1\nservice = '1ms'\n";
        let output = storm(&[&file("rows", "s.toml", &format!("{base}{text}"))]);
        assert_eq!(output.status.code(), Some(2), "{text}");
        String::from_utf8(output.stderr).expect("UTF-8")
    };
    let cases = [
        ("[[row]]\nlaw = 'full'\n", "row.0.name must be set"),
        ("[[row]]\nname = 'a'\n", "row.0: must have one of law, policy and preset"),
        (
            "[[row]]\nname = 'a'\nlaw = 'full'\npreset = 'grpc'\n",
            "at most one of law, policy and preset",
        ),
        ("[[row]]\nname = 'a'\npreset = 'gprc'\n", "row.0.preset"),
        ("[[row]]\nname = 'no-retry'\nlaw = 'full'\n", "a name that no other row has"),
        (
            "[[row]]\nname = 'a'\nlaw = 'full'\nwith = { 'server.quue' = 1 }\n",
            "unknown key server.quue",
        ),
        ("[[row]]\nname = 'a'\nlaw = 'full'\nwith = { 'arrivals.3.callers' = 1 }\n", "row.0.with"),
        ("[[row]]\nname = 'a'\nlaw = 'full'\nwide = 1\n", "unknown key row.0.wide"),
    ];
    for (text, why) in cases {
        let found = refusal(text);
        assert!(found.contains(why), "{text}: {found}");
    }
}
