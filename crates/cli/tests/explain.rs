//! `stagger explain`: every form of output, and what is refused.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const TWO: &str = "\
[policy.checkout]
backoff = { base = '50ms', cap = '1s', jitter = 'none' }
limits = { max_attempts = 4, deadline = '2s', attempt_timeout = '400ms' }
budget.window = { ratio = 0.2 }
[policy.report]
backoff = { base = '1s', cap = '60s', jitter = 'decorrelated-clamped' }
limits = { max_attempts = 13 }
budget = 'unlimited'
";

fn folder(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("explain").join(test);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Runs in a folder of its own, in which `p.toml` holds two policies.
fn explain(test: &str, args: &[&str]) -> Output {
    let folder = folder(test);
    fs::write(folder.join("p.toml"), TWO).expect("written");
    command(&folder, args).output().expect("the binary was built for this test")
}

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stagger"));
    command.arg("explain").args(args).current_dir(folder);
    command
}

#[track_caller]
fn stdout(output: &Output) -> String {
    // 1 where there are errors among the findings.
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "nothing of ours beside the data");
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

#[track_caller]
fn json(test: &str, args: &[&str]) -> Value {
    let page = stdout(&explain(test, &[args, &["--format", "json"]].concat()));
    serde_json::from_str(&page).expect("one JSON value")
}

#[track_caller]
fn refusal(test: &str, args: &[&str]) -> String {
    let output = explain(test, args);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty(), "nothing is said of what is refused");
    String::from_utf8(output.stderr).expect("UTF-8")
}

const KNOWN: [&str; 10] = [
    "--slo",
    "6s",
    "--rps",
    "500",
    "--fleet",
    "40",
    "--downstream-capacity",
    "30000",
    "--layers",
    "3",
];

#[test]
fn a_preset_is_explained_in_figures_and_words() {
    let args = [&["--preset", "interactive"][..], &KNOWN].concat();
    insta::assert_snapshot!("interactive", stdout(&explain("preset", &args)));
}

#[test]
fn a_throttled_backoff_has_a_time_line_of_its_own() {
    insta::assert_snapshot!("aws", stdout(&explain("aws", &["--preset", "aws-standard"])));
}

#[test]
fn a_deadline_ends_a_time_line_without_a_last_attempt() {
    let page = stdout(&explain("google", &["--preset", "google-cloud"]));
    insta::assert_snapshot!("google_cloud", page);
}

#[test]
fn every_policy_of_a_file_is_explained() {
    insta::assert_snapshot!("file", stdout(&explain("file", &["p.toml"])));
}

#[test]
fn the_figures_are_one_object_for_a_program() {
    let args = ["--preset", "grpc", "--slo", "2s", "--format", "json"];
    insta::assert_snapshot!("json", stdout(&explain("json", &args)));
    let known = json("json", &[&["--preset", "batch"][..], &KNOWN].concat());
    assert_eq!(known["fleet"]["firsts_per_s"], 20_000.0);
    assert_eq!(known["amplification"]["layers"], 3);
    assert_eq!(known["slo"]["ok"], false);
}

#[test]
fn a_list_for_several_policies_and_an_object_for_one_of_them() {
    let names = |page: &Value| {
        let list = page.as_array().expect("a list").iter();
        list.filter_map(|it| it["policy"].as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    assert_eq!(names(&json("list", &["p.toml"])), ["checkout", "report"]);
    assert_eq!(names(&json("list", &["p.toml#report", "--preset", "grpc"])), ["report", "grpc"]);
    let one = json("list", &["p.toml#checkout"]);
    assert_eq!(one["policy"], "checkout");
    assert_eq!(one["worst_case_ms"], 4.0 * 400.0 + 350.0);
    assert_eq!(one["attempts"][3]["cumulative_worst_ms"], 350.0);
}

#[test]
fn what_is_unknown_or_unbounded_is_null() {
    let args = ["p.toml#report", "--rps", "5", "--fleet", "2"];
    let page = json("null", &args);
    assert!(page["worst_case_ms"].is_null() && page["slo"].is_null());
    assert!(page["fleet"]["burst"].is_null() && page["fleet"]["capacity_per_s"].is_null());
    let share = page["cap_share"]["of_last"].as_f64().expect("a number");
    assert!((0.28..0.30).contains(&share), "29 % by retry 12, not {share}");
    assert_eq!(page["method"]["kind"], "sample");
}

#[test]
fn standard_input_is_read() {
    let mut command = command(&folder("stdin"), &["--format", "json", "--", "-#report"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the binary was built for this test");
    let mut input = child.stdin.take().expect("piped");
    input.write_all(TWO.as_bytes()).expect("it is read");
    drop(input);
    let page = stdout(&child.wait_with_output().expect("it ends"));
    assert!(page.contains(r#""policy": "report""#), "{page}");
}

#[test]
fn the_page_holds_the_same_figures_and_needs_nothing_else() {
    let args = [&["p.toml#checkout", "--html", "page.html"][..], &KNOWN].concat();
    let text = stdout(&explain("html", &args));
    assert!(text.starts_with("policy checkout"), "the text comes too");
    let html = fs::read_to_string(folder("html").join("page.html")).expect("written");
    for outside in ["http:", "https:", "src=", "<script", "@import", "url("] {
        assert!(!html.contains(outside), "{outside}");
    }
    let (_, body) = html.split_once("<body>").expect("a body");
    insta::assert_snapshot!("html", words(body));
}

/// The text of a page without its tags.
fn words(html: &str) -> String {
    let parts = html.split('<').filter_map(|part| part.split_once('>'));
    let lines = parts.map(|(_, text)| text.trim()).filter(|text| !text.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_name_is_text_on_the_page_and_no_markup() {
    let folder = folder("markup");
    fs::write(folder.join("m.toml"), "[policy.'<b>&']\n").expect("written");
    let output = command(&folder, &["m.toml", "--html", "m.html"]).output().expect("built");
    assert!(output.stderr.is_empty());
    let html = fs::read_to_string(folder.join("m.html")).expect("written");
    assert!(html.contains("Policy &#60;b&#62;&#38;</h1>") && !html.contains("<b>"));
}

#[test]
fn what_is_refused_says_why_and_writes_nothing() {
    let refused = |args: &[&str]| refusal("refused", args);
    let slip = refused(&["--preset", "grcp"]);
    assert!(slip.contains("invalid value 'grcp' for '--preset'"), "{slip}");
    assert!(slip.contains("did you mean grpc?"), "{slip}");
    assert!(refused(&["p.toml#chekout"]).contains("did you mean checkout?"));
    assert!(refused(&["nowhere.toml"]).contains("nowhere.toml: No such file"));
    assert!(refused(&[]).contains("<FILE[#NAME]>"));
    assert!(refused(&["p.toml", "--slo", "fast"]).contains("--slo"));
    assert!(refused(&["p.toml", "--rps", "-1"]).contains("must be a number from"));
    assert!(refused(&["p.toml", "--layers", "99"]).contains("from 1 to 16"));
    assert!(refused(&["p.toml", "--html", "no/where.html"]).contains("in a folder that exists"));
}

#[test]
fn a_file_that_is_wrong_is_refused_at_its_place() {
    let folder = folder("wrong");
    let page = folder.join("page.html");
    let _ = fs::remove_file(&page);
    fs::write(folder.join("w.toml"), "[policy.a]\nlimits = { max_attempt = 3 }\n")
        .expect("written");
    let output = command(&folder, &["w.toml", "--html", "page.html"]).output().expect("built");
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty() && !page.exists(), "nothing half-written");
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(said.contains("w.toml:2:") && said.contains("did you mean `max_attempts`?"), "{said}");
}
