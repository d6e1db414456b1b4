//! Files of a person's own: played, or refused at the place that is wrong.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

const DOCS: &str = include_str!("../../../docs/scenarios.md");

/// A file in a folder of its own, so that tests do not see each other.
fn file(test: &str, text: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("s.toml");
    fs::write(&path, text).expect("written");
    path
}

fn storm(path: &PathBuf, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stagger"));
    command.arg("storm").arg(path).args(args).output().expect("the binary was built for this test")
}

#[track_caller]
fn json(path: &PathBuf, args: &[&str]) -> Value {
    let output = storm(path, &[args, &["--format", "json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON value")
}

#[track_caller]
fn refusal(test: &str, text: &str, args: &[&str]) -> String {
    let output = storm(&file(test, text), args);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).expect("UTF-8")
}

fn examples() -> Vec<&'static str> {
    let blocks = DOCS.split("```toml\n").skip(1);
    blocks.filter_map(|block| block.split("```").next()).collect()
}

fn laws(page: &Value) -> Vec<&str> {
    let rows = page["rows"].as_array().expect("rows").iter();
    rows.filter_map(|row| row["law"].as_str()).collect()
}

const SMALL: &str = "
runs = 2
[[arrivals]]
kind = 'together'
callers = 50
[[fault]]
kind = 'refuse'
lasts = '200ms'
";

#[test]
fn the_documented_examples_can_be_played() {
    let [night, shard] = examples()[..] else { panic!("two examples") };
    let page = json(&file("night", night), &["--runs", "1"]);
    assert_eq!((&page["scenario"], &page["varied"]), (&"night".into(), &"fault.lasts [s]".into()));
    assert_eq!(laws(&page)[..4], ["no-retry", "none", "full", "ours"]);
    assert_eq!(page["rows"].as_array().map(Vec::len), Some(12));
    // A short stall is over by itself; a long one is kept alive by retries, and not by a budget.
    let never = |row: usize| page["rows"][row]["time_to_recover_s"].is_null();
    assert_eq!([2, 9, 10, 11].map(never), [false, true, true, false]);

    let page = json(&file("shard", shard), &["--runs", "1"]);
    assert_eq!(laws(&page), ["no-retry", "equal", "full", "decorrelated"]);
    assert_eq!((&page["seed"], &page["varied"]), (&7.into(), &Value::Null));
}

#[test]
fn threads_leave_no_trace_in_a_file() {
    let path = file("threads", examples()[0]);
    let of = |threads| storm(&path, &["--runs", "2", "--threads", threads]).stdout;
    assert_eq!(of("1"), of("4"));
}

#[test]
fn what_is_wrong_is_shown_where_it_stands() {
    for (text, parts) in [
        ("runs = ", ["s.toml:1:", "runs = ", "^"]),
        ("runs = 0", ["runs = 0: must be a whole number from 1 to 1000000", "s.toml:1:8", "^"]),
        (
            "rnus = 2\n[[arrivals]]\nkind='together'\ncallers=1",
            ["unknown key rnus", "did you mean runs?", "s.toml:1:1"],
        ),
        (
            "[[arrivals]]\nkind = 'poison'",
            ["arrivals.0.kind = poison", "did you mean poisson?", "s.toml:2:8"],
        ),
        (
            "[[arrivals]]\nkind = 'together'",
            ["arrivals.0.callers must be set", "s.toml:1:", "[[arrivals]]"],
        ),
        (
            "[[arrivals]]\nkind = 'together'\ncallers = 1\nspacing = '1s'",
            ["unknown key arrivals.0.spacing", "there are kind, callers", "s.toml:4:1"],
        ),
        (
            "[server]\nservice = 5",
            ["server.service = 5: must be a span with its unit", "s.toml:2:11", "service = 5"],
        ),
        ("[server]\nqueue = 5", ["server.queue = 5", "together with server.workers", "s.toml:2:9"]),
        (
            "[server]\nlimit = { attempts = 5 }",
            ["server.limit", "attempts and window", "s.toml:2:9"],
        ),
        ("[[fault]]\nkind = 'stall'", ["fault.0", "must end", "s.toml:1:"]),
        (
            "[[bystanders]]\nkind = 'together'",
            ["bystanders.0.callers must be set", "s.toml:1:", "[[bystanders]]"],
        ),
        (
            "[[bystanders]]\nkind = 'together'\ncallers = 1\ntimeuot = '1s'",
            ["unknown key bystanders.0.timeuot", "did you mean timeout?", "s.toml:4:1"],
        ),
        (
            "[[bystanders]]\nkind = 'together'\ncallers = 1\nlaw = 'ful'",
            ["bystanders.0.law = ful", "did you mean full?", "s.toml:4:7"],
        ),
        (
            "[[bystanders]]\nkind = 'together'\ncallers = 1\npolicy = 'ours'",
            ["bystanders.0.policy = ours", "the name of a table [policy.NAME]", "s.toml:4:10"],
        ),
        (
            "[[arrivals]]\nkind = 'ramped'\ncallers = 1\nrate = 0\nover = '1s'",
            ["arrivals.0.rate = 0", "a whole number from 1 to 1000000", "s.toml:4:8"],
        ),
        (
            "[[arrivals]]\nkind = 'ramped'\ncallers = 1\nrate = 5\nover = '1s'\nfrom = 0.1",
            ["unknown key arrivals.0.from", "there are kind, callers, start", "s.toml:6:1"],
        ),
        (
            "[[fault]]\nkind = 'slow'\nfactor = 0.5",
            ["fault.0.factor = 0.5", "from 1 to 1000", "s.toml:3:10"],
        ),
        (
            "[[fault]]\nkind = 'refuse'\nshard = 1",
            ["fault.0.shard = 1", "from 0 to 0", "s.toml:3:9"],
        ),
        ("[laws]\nnames = ['ful']", ["laws.names = ful", "did you mean full?", "s.toml:2:10"]),
        (
            "[laws]\nbase = '1s'\ncap = '10ms'",
            ["laws.cap = 10ms", "at least base (1s)", "s.toml:3:7"],
        ),
        (
            "[policy.ours]\nhints = { spread = 5000000000 }",
            ["policy.ours.hints.spread", "must be", "s.toml:2:20"],
        ),
        (
            "[policy.ours]\nhedg = { delay = '1s' }",
            ["policy.ours", "did you mean `hedge`?", "s.toml:2:1"],
        ),
    ] {
        let message = refusal("wrong", text, &[]);
        for part in parts {
            assert!(message.contains(part), "{part} is not in: {message}");
        }
        assert_eq!(message.matches("error:").count(), 1, "{message}");
        assert!(message.contains(" | "), "{message}");
    }
}

#[test]
fn more_sources_than_a_plan_has_room_for_were_a_panic() {
    for key in ["arrivals", "bystanders"] {
        let table = format!("[[{key}]]\nkind = 'together'\ncallers = 1\n");
        let message = refusal("sources", &format!("{SMALL}{}", table.repeat(101)), &[]);
        assert!(message.contains("a list of at most 100 tables"), "{message}");
    }
    let both = ["arrivals", "bystanders"].map(|key| {
        let tables = if key == "arrivals" { 99 } else { 100 };
        format!("[[{key}]]\nkind = 'together'\ncallers = 1\n").repeat(tables)
    });
    let page = json(&file("full", &format!("{SMALL}{}", both.concat())), &["--law", "full"]);
    assert_eq!(page["rows"][0]["calls"], 50.0 + 99.0);
}

#[test]
fn bystanders_crowd_the_server_and_are_in_no_row() {
    let crowd = |more: &str| {
        format!(
            "{SMALL}[server]\nservice = '10ms'\nworkers = 1\nqueue = 5\n[policy.theirs]\n{more}"
        )
    };
    let alone = json(&file("alone", &crowd("")), &["--law", "full"]);
    let others = "[[bystanders]]\nkind = 'poisson'\nrate = 500\nuntil = '3s'\n";
    for how in ["", "law = 'fixed'\nattempts = 2\nbase = '5ms'\n", "policy = 'theirs'\n"] {
        let beside =
            json(&file("beside-them", &crowd(&format!("{others}{how}"))), &["--law", "full"]);
        let row = |page: &Value, key: &str| page["rows"][1][key].as_f64().expect("a figure");
        assert_eq!(row(&beside, "calls"), 50.0, "{how}");
        assert!(row(&beside, "success") < row(&alone, "success"), "{how}");
        let theirs = laws(&beside).contains(&"theirs");
        assert_eq!(theirs, !how.contains("policy"), "a policy of bystanders is no row");
    }
}

#[test]
fn varied_values_are_refused_at_their_own_place() {
    let vary = |text: &str| format!("{SMALL}[vary]\n{text}");
    let message = refusal("vary", &vary("key = 'fault.lasts'\nvalues = ['1s', '2']"), &[]);
    assert!(message.contains("fault.0.lasts = 2: must be a span"), "{message}");
    assert!(message.contains("s.toml:11:17"), "{message}");
    let message = refusal("vary", &vary("key = 'fault.last'\nvalues = ['1s']"), &[]);
    assert!(message.contains("unknown key fault.0.last: did you mean lasts?"), "{message}");
    let message = refusal("vary", &vary("key = 'title.x'\nvalues = [1]"), &[]);
    assert!(message.contains("unknown key title") || message.contains("title"), "{message}");
}

#[test]
fn a_file_that_is_not_there_and_flags_that_it_cannot_have_are_refused() {
    let output = storm(&PathBuf::from("nowhere/at-all.toml"), &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: nowhere/at-all.toml: "));
    let message = refusal("flags", SMALL, &["--callers", "5"]);
    assert!(message.contains("--callers") && message.contains("--sweep"), "{message}");
}

#[test]
fn flags_win_over_the_file() {
    let page = json(
        &file("win", SMALL),
        &["--runs", "1", "--law", "full", "--seed", "9", "--attempts", "2"],
    );
    assert_eq!(laws(&page), ["no-retry", "full"]);
    assert_eq!((&page["runs"], &page["seed"]), (&1.into(), &9.into()));
    assert_eq!(page["options"]["attempts"], 2);
}

#[test]
fn laws_of_equal_mean_wait_ride_out_the_outage_that_they_lost_to() {
    let text = SMALL.replace("200ms", "2s");
    let path = file("equal", &text);
    let success = |args: &[&str]| {
        let page = json(&path, &[args, &["--law", "full"]].concat());
        page["rows"][1]["success"].as_f64().expect("a share")
    };
    assert!(success(&[]) < success(&["--equal", "mean-wait"]));
}

#[test]
fn a_sweep_has_a_row_for_every_cell() {
    let path = file("sweep", SMALL);
    let args =
        ["--sweep", "outage=100ms..4s/2", "--sweep", "arrivals.callers=10..30/3", "--law", "none"];
    let page = json(&path, &args);
    let rows = page["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 2 * 3 * 2);
    assert_eq!(
        (&rows[1]["at"]["outage"], &rows[1]["at"]["arrivals.callers"]),
        (&"100ms".into(), &"10".into())
    );
    assert_eq!([&rows[1]["stuck"], &rows[3]["stuck"]], [&Value::from(false), &Value::from(true)]);
    let table = String::from_utf8(storm(&path, &args).stdout).expect("UTF-8");
    assert!(
        table.contains("none: recovered") && table.contains('█') && table.contains('·'),
        "{table}"
    );
    let csv = storm(&path, &[&args[..], &["--format", "csv"]].concat()).stdout;
    assert!(csv.starts_with(b"scenario,seed,outage,arrivals.callers,case,law,runs,healed,"));
}

#[test]
fn a_sweep_that_cannot_be_is_refused_in_words() {
    for (sweep, part) in [
        ("outage", "KEY=A..B/STEPS"),
        ("server.worker=1..5", "did you mean workers?"),
        ("server.workers=0..5/2", "server.workers = 0"),
    ] {
        let message = refusal("bad-sweep", SMALL, &["--sweep", sweep]);
        assert!(message.contains(part), "{message}");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_stagger"))
        .args(["storm", "lockstep", "--sweep", "caller=1..5"])
        .output()
        .expect("runs");
    assert!(String::from_utf8_lossy(&output.stderr).contains("did you mean callers?"));
}

#[test]
fn a_policy_of_ones_own_stands_beside_the_laws() {
    let policies =
        file("policy", "[policy.ours]\nlimits = { max_attempts = 2 }\n[policy.theirs]\n");
    let of = |name: &str| format!("{}{name}", policies.display());
    let played =
        |name: &str| json(&file("beside", SMALL), &["--law", "full", "--policy", &of(name)]);
    assert_eq!(laws(&played("#ours")), ["no-retry", "full", "ours"]);
    assert_eq!(laws(&played("")), ["no-retry", "full", "ours", "theirs"]);
    let message = refusal("beside", SMALL, &["--policy", &of("#our")]);
    assert!(message.contains("no [policy.our]: did you mean ours?"), "{message}");

    let single = file("single", "[backoff]\nbase = '1s'\ncap = '10ms'\n");
    let message = refusal("beside", SMALL, &["--policy", &single.display().to_string()]);
    assert!(
        message.contains("backoff.cap = 10ms: must be at least backoff.base (1s)"),
        "{message}"
    );
    assert!(message.contains("s.toml:3:7") && message.contains("^^"), "{message}");
}

#[test]
fn a_row_without_retries_retried_in_its_inner_layers() {
    let layers = "[[layer]]\n[[layer]]\nlaw = 'fixed'\nattempts = 2\nbase = '10ms'\n";
    let page = json(&file("layers", &format!("{SMALL}{layers}")), &["--law", "full"]);
    assert_eq!(laws(&page), ["no-retry", "full"]);
    assert_eq!(page["rows"][0]["amplification"], 1.0);
    assert!(page["rows"][1]["amplification"].as_f64().is_some_and(|attempts| attempts > 2.0));
}

#[test]
fn the_file_of_the_playground_was_another_run_than_its_page() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../playground/tests/outage.toml");
    let output = Command::new(env!("CARGO_BIN_EXE_stagger"))
        .args(["storm", file, "--format", "json", "--quiet"])
        .output()
        .expect("the binary was built for this test");
    let page: Value = serde_json::from_slice(&output.stdout).expect("one JSON value");
    // The tests of the playground have the same digest.
    assert_eq!(
        (&page["rows"][1]["law"], &page["rows"][1]["digest"]),
        (&"yours".into(), &"6ca3d582e1b17a48".into())
    );
}
