//! `stagger storm` as a process: what it prints, and how it ends.

use std::io::Read;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn stagger(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stagger"));
    command.args(args).output().expect("the binary was built for this test")
}

#[track_caller]
fn stdout(args: &[&str]) -> String {
    let output = stagger(args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {stderr}");
    assert!(stderr.lines().count() <= 1, "no terminal, so no progress: {stderr}");
    String::from_utf8(output.stdout).expect("the output is UTF-8")
}

#[track_caller]
fn json(args: &[&str]) -> Value {
    serde_json::from_str(&stdout(args)).expect("one JSON value")
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

/// The one message on standard error; nothing may be on standard output.
#[track_caller]
fn refusal(args: &[&str]) -> String {
    let output = stagger(args);
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    assert!(output.stdout.is_empty(), "{args:?} wrote to standard output");
    String::from_utf8(output.stderr).expect("the message is UTF-8")
}

#[test]
fn json_has_the_promised_keys_and_laws() {
    let page = json(&["storm", "--runs", "3", "--format", "json"]);
    for key in ["scenario", "seed", "runs", "rows", "options", "clients", "varied"] {
        assert!(keys(&page).contains(&key), "{key}");
    }
    assert_eq!((&page["scenario"], &page["runs"]), (&"lockstep".into(), &3.into()));
    assert_eq!((&page["clients"], &page["options"]["up_at_ms"]), (&1_000.into(), &200.0.into()));
    let rows = page["rows"].as_array().expect("rows");
    let laws: Vec<_> = rows.iter().filter_map(|row| row["law"].as_str()).collect();
    assert_eq!(laws[..5], ["no-retry", "fixed", "none", "equal", "full"]);
    for row in rows {
        assert_eq!(keys(&row["peak_rps"]), ["mean", "sd"]);
        assert!(row["amplification"].as_f64().is_some_and(|times| times >= 1.0));
        assert!(row["success"].as_f64().is_some_and(|share| (0.0..=1.0).contains(&share)));
        assert_eq!((&row["case"], &row["value"]), (&"up at 200ms".into(), &0.2.into()));
        assert_eq!((&row["runs"], &row["calls"]), (&3.into(), &1_000.0.into()));
        assert!(row["digest"].as_str().is_some_and(|hex| hex.len() == 16));
        for key in [
            "time_to_recover_s",
            "healed",
            "relapsed",
            "wasted",
            "p50_ms",
            "p95_ms",
            "p99_ms",
            "events",
        ] {
            assert!(keys(row).contains(&key), "{key}");
        }
    }
    assert_eq!((&rows[0]["time_to_recover_s"], &rows[0]["healed"]), (&Value::Null, &0.into()));
    assert_eq!((&rows[2]["time_to_recover_s"], &rows[2]["healed"]), (&0.1.into(), &3.into()));
    assert_eq!(
        (&rows[0]["recovery"], &rows[2]["recovery"]),
        (&"never".into(), &"recovered".into())
    );
    assert_eq!(rows[2]["peak_rps"]["mean"], 20_000.0);
    assert_eq!(rows[2]["peak_rps_before"]["mean"], 20_000.0);
}

#[test]
fn the_cost_is_told_beside_the_page_and_not_in_it() {
    for format in ["table", "json", "csv"] {
        let output = stagger(&["storm", "--runs", "1", "--format", format]);
        let told = String::from_utf8(output.stderr).expect("UTF-8");
        assert!(told.starts_with("storm lockstep: ") && told.contains(" s"), "{told}");
        assert_eq!(told.contains(" MiB at most"), cfg!(target_os = "linux"), "{told}");
        assert_eq!(told.lines().count(), 1, "{told}");
    }
}

#[test]
fn the_list_has_every_scenario_in_every_form() {
    let page = stdout(&["storm", "list"]);
    let column = page.find("about").expect("the last column");
    let listed = json(&["storm", "list", "--format", "json"]);
    let names: Vec<_> = listed.as_array().expect("a list").iter().collect();
    assert!(names.len() >= 3);
    for listed in names {
        let name = listed["name"].as_str().expect("a name");
        let begun = page.lines().skip_while(|line| !line.starts_with(name));
        let row = begun.enumerate().take_while(|(at, line)| *at == 0 || line.starts_with(' '));
        let about: Vec<&str> = row.map(|(_, line)| line[column..].trim()).collect();
        assert_eq!(about.join(" "), listed["about"].as_str().expect("one sentence about it"));
    }
    assert!(stdout(&["storm", "list", "--format", "csv"]).starts_with("scenario,table,about\n"));
}

#[test]
fn a_scenario_goes_by_its_name_and_by_its_table() {
    let of = |name| stdout(&["storm", name, "--runs", "1", "--format", "csv"]);
    assert_eq!(of("lockstep"), of("l3"));
    assert_eq!(of("LockStep"), of("L3"));
    assert!(
        stdout(&["storm", "l11", "--runs", "1", "--callers", "9"]).starts_with("storm shapes:")
    );
}

#[test]
fn flags_may_stand_before_the_scenario() {
    let before = stdout(&["storm", "--runs", "2", "--format", "csv", "contention"]);
    assert_eq!(before, stdout(&["storm", "contention", "--runs", "2", "--format", "csv"]));
    assert!(before.starts_with("scenario,seed,case,value,law,runs,calls,peak_rps_mean,"));
}

#[test]
fn no_retry_is_always_beside_the_others() {
    let page = json(&["storm", "--runs", "1", "--law", "full", "--format", "json"]);
    let rows = page["rows"].as_array().expect("rows");
    let laws: Vec<_> = rows.iter().filter_map(|row| row["law"].as_str()).collect();
    assert_eq!(laws, ["no-retry", "full"]);
}

#[test]
fn a_table_has_no_column_that_says_nothing() {
    let lockstep = stdout(&["storm", "--runs", "1"]);
    assert!(lockstep.contains("recovers") && !lockstep.contains("wasted"), "{lockstep}");
    let alone = stdout(&["storm", "--runs", "1", "--law", "full"]);
    assert!(!alone.contains("× none"), "{alone}");
}

#[test]
fn shapes_come_in_every_form() {
    let small = ["storm", "shapes", "--runs", "1", "--callers", "500", "--format"];
    let with = |format| [&small[..], &[format]].concat();
    let page = json(&with("json"));
    assert_eq!(page["growth"].as_array().map(Vec::len), Some(22));
    assert!(stdout(&with("csv")).starts_with("figure,law,at,value\n"));
    assert!(stdout(&with("table")).contains("long run"));
}

#[test]
fn the_same_seed_prints_the_same_bytes_on_any_number_of_threads() {
    for format in ["table", "json", "csv"] {
        let run =
            |threads| stdout(&["storm", "--runs", "9", "--threads", threads, "--format", format]);
        let one = run("1");
        assert_eq!(one, run("1"));
        assert_eq!(one, run("2"));
        assert_eq!(one, run("5"));
    }
    let seeded = |seed| stdout(&["storm", "--runs", "9", "--seed", seed, "--format", "csv"]);
    assert_ne!(seeded("1"), seeded("2"));
}

#[test]
fn the_table_says_seed_and_options_first_and_fits_a_terminal() {
    for scenario in ["lockstep", "contention", "shapes"] {
        let page = stdout(&["storm", scenario, "--runs", "1", "--seed", "77"]);
        let head = page.split("\n\n").next().expect("a heading").replace("\n  ", " ");
        let head: Vec<&str> = head.lines().collect();
        assert!(head[0].starts_with(&format!("storm {scenario}: ")), "{}", head[0]);
        assert!(head[1].starts_with("seed 77, 1 run"), "{}", head[1]);
        assert!(head[1].contains("base") && head[1].contains("cap"), "{}", head[1]);
        for line in page.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}

#[test]
fn bad_values_name_flag_value_and_bound() {
    for (args, parts) in [
        (&["storm", "--callers", "0"][..], ["--callers", "'0'", "1..=50000000"]),
        (&["storm", "--runs", "many"], ["--runs", "'many'", "invalid digit"]),
        (&["storm", "--up-at", "5"], ["--up-at", "'5'", "must be a span with its unit"]),
        (&["storm", "--base", "-1s"], ["--base", "'-1s'", "must be a span of zero"]),
        (&["storm", "--callers", "-1"], ["--callers", "'-1'", "1..=50000000"]),
        (&["storm", "--cap", "10ms"], ["--cap", "'10ms'", "must be at least --base (100ms)"]),
        (&["storm", "--law", "fulll"], ["--law", "'fulll'", "full"]),
        (&["storm", "--format", "xml"], ["--format", "'xml'", "json"]),
        (&["storm", "L1", "--up-at", "1s"], ["--up-at", "contention", "lockstep"]),
        (&["storm", "list", "--law", "full"], ["--law", "list", "lockstep"]),
        (&["storm", "L1", "--law", "octave"], ["contention", "compare", "octave"]),
        (&["storm", "shapes", "--attempts", "3"], ["--attempts", "shapes", "lockstep"]),
        (&["storm", "hurricane"], ["hurricane", "no scenario", "storm list"]),
        (&["storm", "lokcstep"], ["lokcstep", "did you mean", "'lockstep'"]),
        (&["storm", "--upat", "1s"], ["--upat", "--up-at", "unexpected"]),
    ] {
        let message = refusal(args);
        for part in parts {
            assert!(message.contains(part), "{part} is not in: {message}");
        }
        assert_eq!(message.matches("error:").count(), 1, "{message}");
    }
}

#[test]
fn hostile_numbers_end_in_figures_and_not_in_panics() {
    let longest = "584y";
    assert!(refusal(&["storm", "--base", longest]).contains("--base"));
    for args in [
        &["storm", "--runs", "1", "--base", "0s", "--cap", "0s"][..],
        &["storm", "--runs", "1", "--base", "213503d", "--cap", "213503d"],
        &["storm", "--runs", "1", "--up-at", "213503d", "--attempts", "50"],
        &["storm", "--runs", "1", "--up-at", "0s", "--callers", "1", "--seed", "0"],
        &["storm", "--runs", "1", "--up-at", "213ms", "--seed", "18446744073709551615"],
        &["storm", "shapes", "--runs", "1", "--callers", "1", "--base", "0s", "--cap", "0s"],
        &["storm", "shapes", "--runs", "1", "--callers", "9", "--base", "1ns", "--cap", "213503d"],
        &["storm", "L3", "--runs", "1", "--base", "1ns", "--attempts", "9"],
    ] {
        for format in ["table", "json", "csv"] {
            let page = stdout(&[args, &["--format", format]].concat());
            assert!(!page.contains("NaN") && !page.contains("inf"), "{args:?}: {page}");
        }
    }
}

#[test]
fn a_reader_that_leaves_is_no_panic() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stagger"));
    command.args(["storm", "--runs", "1", "--format", "json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut stderr).expect("readable");
    assert!(child.wait().expect("ends").success(), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
}

#[test]
fn help_shows_examples() {
    assert!(stdout(&["--help"]).contains("stagger demo"));
    assert!(stdout(&["storm", "--help"]).contains("stagger storm list"));
    assert!(stdout(&["storm", "--help"]).contains("--up-at <TIME>"));
}

/// Sent by its number, so that no crate is needed for it.
#[cfg(target_os = "linux")]
fn interrupt(process: u32) {
    let sent = Command::new("kill").args(["-INT", &process.to_string()]).status();
    assert!(sent.expect("kill runs").success());
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_prints_what_is_done() {
    use std::io::{BufRead, BufReader};

    let mut command = Command::new(env!("CARGO_BIN_EXE_stagger"));
    // More runs than any machine plays while this test waits.
    command.args(["storm", "--runs", "1000000", "--law", "full", "--format", "json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    // The handler stands as soon as the kernel says that the signal is caught.
    let status = format!("/proc/{}/status", child.id());
    let caught = |text: String| {
        let mask = text.lines().find_map(|line| line.strip_prefix("SigCgt:"))?.trim().to_owned();
        u64::from_str_radix(&mask, 16).ok().filter(|mask| mask & 2 != 0)
    };
    while std::fs::read_to_string(&status).ok().and_then(caught).is_none() {
        std::thread::yield_now();
    }
    interrupt(child.id());
    let mut told = String::new();
    BufReader::new(child.stderr.take().expect("piped")).read_line(&mut told).expect("readable");
    assert!(told.contains("Ctrl-C again ends at once"), "{told}");
    let output = child.wait_with_output().expect("ends");
    assert!(output.status.success());
    let page: Value = serde_json::from_slice(&output.stdout).expect("one JSON value");
    let runs: Vec<u64> = page["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .filter_map(|row| row["runs"].as_u64())
        .collect();
    assert_eq!(page["runs"], 1_000_000);
    assert!(runs.iter().all(|&runs| runs < 1_000_000), "{runs:?}");
    assert!(runs[0].abs_diff(runs[1]) <= 64, "rows stop together: {runs:?}");
}
