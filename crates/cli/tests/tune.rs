//! `stagger tune` from the command line, in small worlds.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// Four calls a second, an outage of a second, and few events.
const SMALL: [&str; 8] =
    ["--load", "4", "--capacity", "100", "--outage", "down=1s", "--events", "2000000"];

fn stagger(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stagger"));
    command.args(args).stdin(Stdio::null());
    command
}

fn tune(args: &[&str]) -> Output {
    stagger(&[&["tune"], args].concat()).output().expect("the binary was built for this test")
}

#[track_caller]
fn printed(args: &[&str]) -> String {
    let output = tune(args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[track_caller]
fn json(args: &[&str]) -> Value {
    serde_json::from_str(&printed(&[args, &["--format", "json"]].concat())).expect("one value")
}

#[track_caller]
fn refusal(args: &[&str], wanted: &str) {
    let output = tune(args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{args:?}: {said}");
    assert!(said.contains(wanted), "{args:?}: {said}");
}

fn folder(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("tune-{test}"));
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

#[test]
fn programs_get_the_verdict_with_its_condition_and_every_row() {
    let page = json(&SMALL);
    let mut wanted = vec![
        "seed",
        "objective",
        "worlds",
        "scale",
        "candidates",
        "training_worlds",
        "held_out_worlds",
        "events",
        "verdict",
        "sentence",
        "winner",
        "recommended",
        "against_default",
        "rows",
        "policy",
    ];
    let mut found = keys(&page);
    wanted.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, wanted);
    let rows = page["rows"].as_array().expect("rows");
    let mut found = keys(&rows[0]);
    found.sort_unstable();
    let mut wanted = [
        "name",
        "reference",
        "success",
        "added_load",
        "p99_ms",
        "miss",
        "cost",
        "on_front",
        "difference",
        "policy",
    ];
    wanted.sort_unstable();
    assert_eq!(found, wanted);
    let names: Vec<&str> = rows.iter().filter_map(|row| row["name"].as_str()).collect();
    for reference in
        ["default", "choose", "no-retry", "aws-2.0", "aws-2.1", "envoy", "envoy-budget"]
    {
        assert!(names.contains(&reference), "{reference}: {names:?}");
    }
    let sentence = page["sentence"].as_str().expect("a sentence");
    assert!(sentence.contains("in these worlds") && sentence.contains("held-out"), "{sentence}");
    let best = rows.iter().find(|row| row["name"] == page["recommended"]).expect("a row");
    assert_eq!(best["policy"], page["policy"]);
    assert_eq!(page["verdict"], "winner");
    assert!(page["against_default"]["high"].as_f64() < Some(0.0));
}

#[test]
fn a_tuned_policy_could_not_be_read_by_explain() {
    let folder = folder("explain");
    let (out, html) = (folder.join("p.toml"), folder.join("p.html"));
    let files = ["--out", &out.display().to_string(), "--html", &html.display().to_string()];
    let text = printed(&[&SMALL[..], &files, &["--format", "toml"]].concat());
    assert_eq!(fs::read_to_string(&out).expect("written"), text);
    let mut explain = stagger(&["explain", "-", "--format", "json"]);
    let mut child = explain.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("started");
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("read");
    let output = child.wait_with_output().expect("it ends");
    let told: Value = serde_json::from_slice(&output.stdout).expect("one value");
    assert!(matches!(output.status.code(), Some(0 | 1)), "{told}");
    let page = fs::read_to_string(html).expect("written");
    assert!(
        page.contains("A retry policy for these worlds") && page.contains("candidate"),
        "{page}"
    );
    fs::remove_dir_all(folder).expect("ours");
}

#[test]
fn threads_leave_no_trace_and_a_seed_does() {
    let of = |more: &[&str]| printed(&[&SMALL[..], more].concat());
    let one = of(&["--threads", "1"]);
    assert_eq!(one, of(&["--threads", "3"]));
    assert_ne!(one, of(&["--seed", "2"]));
    assert!(one.lines().all(|line| line.chars().count() <= 80), "{one}");
}

const SCENARIO: &str = "\
[[arrivals]]
kind = 'poisson'
rate = 4
until = '31s'
[server]
service = '10ms'
workers = 2
[[fault]]
kind = 'refuse'
from = '10s'
lasts = '2s'
[vary]
key = 'fault.lasts'
values = ['1s', '2s']
";

#[test]
fn the_worlds_of_a_scenario_file_and_a_policy_of_ones_own_are_played() {
    let folder = folder("scenario");
    let (scenario, policy) = (folder.join("night.toml"), folder.join("own.toml"));
    fs::write(&scenario, SCENARIO).expect("written");
    fs::write(&policy, "[policy.mine]\nlimits.max_attempts = 9\n").expect("written");
    let (scenario, policy) = (scenario.display().to_string(), policy.display().to_string());
    let page = json(&["--scenario", &scenario, "--policy", &policy, "--events", "2000000"]);
    let rows = page["rows"].as_array().expect("rows");
    let own = rows.iter().find(|row| row["name"] == "own:mine").expect("a row");
    assert_eq!(own["policy"]["limits"]["max_attempts"], 9);
    // Half of the worlds have an outage of 1 s, half one of 2 s, of 31 s.
    let never = rows.iter().find(|row| row["name"] == "no-retry").expect("a row");
    let lost = 1.0 - never["success"].as_f64().expect("a share");
    assert!((lost - 1.5 / 31.0).abs() < 0.02, "{lost}");
    fs::write(&scenario, format!("{SCENARIO}[fleet]\nlifetime = {{ share = 0.1 }}\n"))
        .expect("written");
    refusal(&["--scenario", &scenario], "fleet = a ledger of its own: must be without deposit");
    fs::remove_dir_all(folder).expect("ours");
}

#[test]
fn the_calls_of_a_log_are_played() {
    let folder = folder("log");
    let log = folder.join("calls.csv");
    let mut text = String::from("time,status,duration_ms\n");
    for call in 0..1_200 {
        let at = f64::from(call) * 0.05;
        let status = if (20.0..22.0).contains(&at) { 503 } else { 200 };
        text += &format!("{:.3},{status},10\n", 1_700_000_000.0 + at);
    }
    fs::write(&log, text).expect("written");
    let page = json(&["--from-log", &log.display().to_string(), "--events", "20000000"]);
    assert_eq!(page["worlds"]["log"], log.display().to_string());
    let rows = page["rows"].as_array().expect("rows");
    let never = rows.iter().find(|row| row["name"] == "no-retry").expect("a row");
    assert!(never["success"].as_f64() < Some(0.99), "{never}");
    assert_eq!(page["verdict"], "winner");
    fs::remove_dir_all(folder).expect("ours");
}

#[test]
fn a_value_out_of_its_bounds_is_refused_with_its_flag() {
    for (args, wanted) in [
        (&["--load", "0"][..], "'0' for '--load': must be a number from 0.1 to 1000000"),
        (&["--load", "many"], "'many' for '--load': must be a number"),
        (&["--capacity", "-1"], "'-1' for '--capacity': must be a number from 0.1 to 1000000"),
        (&["--processes", "0"], "'0' for '--processes': must be a whole number from 1 to 1000000"),
        (&["--success", "2"], "'200%' for '--success': must be above 0% and at most 100%"),
        (&["--success", "all"], "'all' for '--success': must be a share such as 99.9%"),
        (&["--deadline", "1ms"], "'1ms' for '--deadline': must be from 10ms to 10m"),
        (&["--p99", "3s"], "'3s' for '--p99': must be above 0s and at most the deadline (2s)"),
        (&["--service", "1us"], "'1us' for '--service': must be from 100us to 60s"),
        (&["--service", "1ms"], "for '--service': must be at least 5ms"),
        (&["--outage", "flood=1s"], "'flood=1s' for '--outage': must be KIND=TIME"),
        (&["--outage", "down=9s..1s"], "for '--outage': must be of a length above 0s"),
        (&["--events", "5"], "'5' for '--events': must be from 1000000 to"),
        (&["--events", "1000000"], "'1000000' for '--events': must be at least "),
        (&["--scenario", "a.toml", "--load", "3"], "cannot be used with"),
        (&["--out", "no-such-folder/p.toml"], "must be a file in a folder that exists"),
        (&["--scenario", "no-such-file.toml"], "no-such-file.toml"),
        (&["--from-log", "no-such-file.log"], "no-such-file.log"),
    ] {
        refusal(args, wanted);
    }
}
