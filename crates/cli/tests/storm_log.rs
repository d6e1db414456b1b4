//! Access logs as files: plain, packed, and packed but broken off.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output};

use flate2::Compression;
use flate2::write::GzEncoder;

/// A call every 10 ms for 20 s; those of 2 s fail, and come again after 100 ms.
fn log() -> String {
    let mut csv = String::from("time,status,id\n");
    for call in 0..2_000_u64 {
        let at = 1_700_000_000_000 + 10 * call;
        let is_down = (400..600).contains(&call);
        csv += &format!("{at},{},{call}\n", if is_down { 503 } else { 200 });
        if is_down {
            csv += &format!("{},{},{call}\n", at + 100, if call < 590 { 503 } else { 200 });
        }
    }
    csv
}

fn packed(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).expect("into memory");
    encoder.finish().expect("into memory")
}

fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("logs");
    fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join(name);
    fs::write(&path, bytes).expect("written");
    path
}

fn replay(path: &PathBuf) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stagger"));
    let args = ["--law", "full", "--runs", "1", "--format", "csv"];
    let command = command.args(["storm", "--from-log"]).arg(path).args(args);
    command.output().expect("the binary was built for this test")
}

#[test]
fn a_packed_log_is_the_same_log_whatever_its_name() {
    let text = log();
    let plain = replay(&file("plain.csv", text.as_bytes()));
    assert!(plain.status.success());
    let (first, second) = text.as_bytes().split_at(text.len() / 3);
    let members = [packed(first), packed(second)].concat();
    for (name, bytes) in [("log.gz", packed(text.as_bytes())), ("log.csv.1", members)] {
        let output = replay(&file(name, &bytes));
        assert_eq!(output.stdout, plain.stdout, "{name}");
        let told = String::from_utf8(output.stderr).expect("UTF-8");
        assert!(told.starts_with("2200 lines of the format csv, 0 malformed"), "{told}");
        assert!(!told.contains("warning"), "{told}");
    }
}

fn stagger(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stagger"));
    command.args(args).output().expect("the binary was built for this test")
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_page_of_a_log_is_written_and_a_sweep_of_it_is_played() {
    let path = file("page.csv", log().as_bytes());
    let (path, page) = (path.to_str().expect("UTF-8"), path.with_extension("html"));
    let args = ["storm", "--from-log", path, "--law", "full", "--runs", "1"];
    let written = stagger(&[&args[..], &["--report", page.to_str().expect("UTF-8")]].concat());
    assert!(written.status.success(), "{}", told(&written));
    assert!(fs::read_to_string(page).expect("it was written").contains("observed"));
    let swept = stagger(&[&args[..], &["--sweep", "base=1s..2s/2", "--format", "csv"]].concat());
    assert!(swept.status.success(), "{}", told(&swept));
    assert!(String::from_utf8_lossy(&swept.stdout).contains("\nreplay,1,2s,log,full,"));
    let refused = stagger(&[&args[..], &["--sweep", "callers=1..2"]].concat());
    assert_eq!(refused.status.code(), Some(2));
    assert!(told(&refused).contains("unknown key callers"), "{}", told(&refused));
}

#[test]
fn an_exported_replay_plays_the_same_rows() {
    let path = file("export.csv", log().as_bytes());
    let scenario = path.with_extension("toml");
    let (path, scenario) = (path.to_str().expect("UTF-8"), scenario.to_str().expect("UTF-8"));
    let args = ["--law", "none,full", "--runs", "2", "--format", "json", "--quiet"];
    let replayed =
        stagger(&[&["storm", "--from-log", path, "--export", scenario], &args[..]].concat());
    assert!(replayed.status.success(), "{}", told(&replayed));
    let played = stagger(&[&["storm", scenario], &args[..]].concat());
    assert!(played.status.success(), "{}", told(&played));
    let rows = |output: &Output| {
        let page: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let rows = page["rows"].as_array().expect("rows").clone();
        let rows = rows.into_iter().filter(|row| row["law"] != "observed");
        let figures = ["law", "amplification", "success", "time_to_recover_s", "digest"];
        rows.map(|row| figures.map(|name| row[name].clone())).collect::<Vec<_>>()
    };
    assert_eq!(rows(&replayed), rows(&played));
}

#[test]
fn programs_get_outages_edges_law_check_and_verdict() {
    let path = file("findings.csv", log().as_bytes());
    let path = path.to_str().expect("UTF-8");
    let args = ["storm", "--from-log", path, "--law", "full", "--runs", "1", "--quiet"];
    let json = stagger(&[&args[..], &["--format", "json"]].concat());
    let page: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    let found = &page["log"];
    assert_eq!(found["outages"][0]["kind"], "refused", "{found}");
    assert_eq!(found["outages"][0]["edge_s"], 0.2, "{found}");
    assert_eq!(found["retry_law"]["attempts"], 2, "{found}");
    assert_eq!((&found["verdict"], &found["retries_told_by"]), (&"given".into(), &"id".into()));
    assert_eq!(found["self_check"]["success_log"], 0.905, "{found}");
    let csv = stagger(&[&args[..], &["--format", "csv", "--outage", "4s+2s:hung"]].concat());
    let text = String::from_utf8(csv.stdout).expect("UTF-8");
    assert!(text.lines().next().expect("a header").ends_with("outages,verdict,reason,doubts"));
    assert!(text.contains("2023-11-14T22:13:24Z+2s:hung edge 0s"), "{text}");
}

#[test]
fn nodes_one_behind_the_other_are_sorted_with_a_warning_and_several_files_without() {
    let text = log();
    let mut lines = text.lines();
    let header = lines.next().expect("a header").to_owned() + "\n";
    let (mut even, mut odd) = (header.clone(), header);
    for line in lines {
        let call = line.rsplit(',').next().expect("an id");
        let node = if call.ends_with(['0', '2', '4', '6', '8']) { &mut even } else { &mut odd };
        *node += &format!("{line}\n");
    }
    let whole = replay(&file("whole.csv", text.as_bytes()));
    let body = odd.split_once('\n').expect("a header").1.to_owned();
    let joined = replay(&file("joined.csv", (even.clone() + &body).as_bytes()));
    assert!(told(&joined).contains("lines came more than 5 s after a later one"));
    let files = [file("even.csv", even.as_bytes()), file("odd.csv", odd.as_bytes())];
    let [even, odd] = files.each_ref().map(|path| path.to_str().expect("UTF-8"));
    let args = ["--law", "full", "--runs", "1", "--format", "csv"];
    let both = stagger(&[&["storm", "--from-log", even, "--from-log", odd], &args[..]].concat());
    assert!(!told(&both).contains("warning"), "{}", told(&both));
    let row = |output: &Output| {
        let text = String::from_utf8(output.stdout.clone()).expect("UTF-8");
        let line = text.lines().find(|line| line.contains(",observed,")).expect("a row");
        line.split(',').take(10).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(row(&both), row(&whole));
    assert_eq!(row(&joined), row(&whole));
}

#[test]
fn a_bad_flag_of_a_replay_is_one_error_with_its_bound() {
    let path = file("flags.csv", log().as_bytes());
    let path = path.to_str().expect("UTF-8");
    for (flag, value, part) in [
        ("--outage", "5s", "FROM+LASTS"),
        ("--outage", "9h+5s", "within the log"),
        ("--retries", "maybe", "guess"),
        ("--from", "yesterday", "a time as in a log"),
        ("--hole", "soon", "must be"),
        ("--outage-share", "0", "from 1 to 100"),
        ("--slow-factor", "1", "from 1.1 to 1000"),
    ] {
        let output = stagger(&["storm", "--from-log", path, flag, value]);
        assert_eq!(output.status.code(), Some(2), "{flag} {value}");
        assert!(told(&output).contains(part), "{flag}: {}", told(&output));
    }
}

#[test]
fn of_a_packed_log_that_breaks_off_the_rest_is_played_with_a_warning() {
    let all = packed(log().as_bytes());
    let output = replay(&file("cut.gz", &all[..all.len() * 3 / 4]));
    let told = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(output.status.success(), "{told}");
    assert!(told.contains("warning: the file breaks off"), "{told}");
    assert!(String::from_utf8_lossy(&output.stdout).contains(",observed,"), "it is played");
}

#[test]
fn a_packed_file_of_nothing_or_by_another_packer_is_one_error() {
    for (name, bytes, part) in [
        ("stub.gz", &b"\x1f\x8b\x08\x00"[..], "breaks off before its first line ends"),
        ("log.zst", &b"\x28\xb5\x2f\xfd\x24"[..], "packed by zstd: unpack it first"),
        ("none.gz", &packed(b""), "the log has no lines"),
    ] {
        let output = replay(&file(name, bytes));
        let told = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(output.stdout.is_empty());
        assert!(told.contains(part) && told.matches("error:").count() == 1, "{told}");
    }
}
