//! Sweeps as a process: maps without holes, whatever the scenario varies itself.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use insta::assert_snapshot;
use serde_json::Value;

#[track_caller]
fn storm(args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stagger"));
    let output = command.arg("storm").args(args).output().expect("it was built for this test");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("the output is UTF-8")
}

fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

#[test]
fn a_scenario_that_varies_its_load_has_one_map_when_the_load_is_swept() {
    let page = storm(&["stall", "--law", "full", "--runs", "1", "--sweep", "callers=100..400/3"]);
    let first: Vec<&str> = page.lines().take(24).collect();
    assert_snapshot!(first.join("\n"));
    assert!(!page.contains(" -"), "{page}");
}

#[test]
fn what_a_scenario_varies_is_the_second_axis_of_another_sweep() {
    let page = storm(&["wave", "--law", "equal", "--runs", "1", "--sweep", "attempts=1..3/2"]);
    let first: Vec<&str> = page.lines().take(24).collect();
    assert_snapshot!(first.join("\n"));
    assert!(!page.contains(" -"), "{page}");
    let args = ["wave", "--law", "equal", "--runs", "1", "--sweep", "attempts=1..3/2"];
    let json: Value = serde_json::from_str(&storm(&[&args[..], &["--format", "json"]].concat()))
        .expect("one JSON value");
    assert_eq!(json["sweep"][1]["key"], "load [1/s]");
    let row = &json["rows"][0];
    assert_eq!((&row["at"]["attempts"], &row["at"]["load [1/s]"]), (&"1".into(), &"700".into()));
    assert_eq!(row["case"], "load 700/s");
}

#[test]
fn two_keys_beside_what_a_scenario_varies_are_a_map_for_each_of_its_cases() {
    let page = storm(&[
        "lockstep",
        "--law",
        "full",
        "--runs",
        "1",
        "--callers",
        "20",
        "--sweep",
        "base=50ms..1s/3",
        "--sweep",
        "attempts=2..6/3",
    ]);
    assert_snapshot!(
        page.lines().filter(|line| line.contains(": recovered")).collect::<Vec<_>>().join("\n")
    );
    assert!(!page.contains(" -"), "{page}");
}

#[test]
fn a_page_of_a_sweep_opens_with_it_and_has_the_six_in_order() {
    let folder = folder("sweep-page");
    let (page, pictures) = (folder.join("x.html"), folder.join("pictures"));
    let (page_arg, pictures_arg) = (page.display().to_string(), pictures.display().to_string());
    storm(&[
        "stall",
        "--law",
        "full",
        "--runs",
        "1",
        "--sweep",
        "callers=100..400/3",
        "--report",
        &page_arg,
        "--pictures",
        &pictures_arg,
    ]);
    let html = fs::read_to_string(page).expect("it was written");
    let parts = [
        "Of 3 cells of the sweep every run recovers in all with",
        "When attempts arrive</h3>",
        "How long until all is well again</h3>",
        "Recovered or not, over callers</h3>",
        "Stuck or not",
        "<caption>callers 250</caption>",
    ];
    let places: Vec<_> = parts.iter().map(|part| html.find(part).expect(part)).collect();
    assert!(places.is_sorted(), "{places:?}");
    for name in ["heat", "recovery", "instants-callers-250", "queue-callers-400"] {
        assert!(pictures.join(format!("{name}.svg")).is_file(), "{name}");
        assert_eq!(pictures.join(format!("{name}.png")).is_file(), cfg!(feature = "png"), "{name}");
    }
}

#[test]
fn a_page_of_a_file_with_a_hundred_cases_is_bounded() {
    let folder = folder("hundred");
    let (file, page) = (folder.join("s.toml"), folder.join("x.html"));
    let values: Vec<String> = (1..=100).map(|ms| format!("'{ms}ms'")).collect();
    let text = format!(
        "runs = 1\n[[arrivals]]\nkind = 'together'\ncallers = 500\n[[fault]]\nkind = 'refuse'\nlasts = '1s'\n\
         [vary]\nkey = 'fault.lasts'\nvalues = [{}]\n",
        values.join(", ")
    );
    fs::write(&file, text).expect("written");
    let csv = storm(&[
        &file.display().to_string(),
        "--format",
        "csv",
        "--report",
        &page.display().to_string(),
    ]);
    let rows = csv.lines().count() - 1;
    assert!(rows >= 500, "every case is in the figures: {rows}");
    let html = fs::read_to_string(page).expect("it was written");
    assert!(html.len() < 3_000_000, "{}", html.len());
    assert!(html.contains("shows 8 of the 100 cases"));
}

#[test]
fn a_sweep_that_would_not_fit_into_memory_is_refused_before_it_is_played() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stagger"));
    let args = ["storm", "stall", "--sweep", "base=1ms..1s/40", "--sweep", "callers=1..100/40"];
    let output = command.args(args).output().expect("it was built for this test");
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(message.contains("at most 6400 rows"), "{message}");
}

#[test]
fn a_build_without_a_writer_of_png_left_the_pictures_out_in_silence() {
    let folder = folder("no-png");
    let mut command = Command::new(env!("CARGO_BIN_EXE_stagger"));
    command.args(["storm", "stall", "--law", "full", "--runs", "1", "--pictures"]).arg(&folder);
    let output = command.output().expect("it was built for this test");
    let told = String::from_utf8_lossy(&output.stderr).contains("--features png");
    assert_eq!(told, cfg!(not(feature = "png")));
    assert!(output.status.success());
}
