//! `stagger storm --against` and `--serve` as processes: the whole loop, refusals, and Ctrl-C.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

/// A herd that is refused until it gives up: no figure but time depends on time.
const DOWN: [&str; 11] = [
    "storm",
    "herd",
    "--callers",
    "30",
    "--up-at",
    "1h",
    "--attempts",
    "3",
    "--base",
    "5ms",
    "--quiet",
];

fn stagger(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stagger"));
    command.args(args).stdin(Stdio::null());
    command
}

fn ended(args: &[&str]) -> Output {
    stagger(args).output().expect("the binary was built for this test")
}

#[track_caller]
fn refusal(args: &[&str]) -> String {
    let output = ended(&[&DOWN, args].concat());
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{args:?}");
    String::from_utf8(output.stderr).expect("the message is UTF-8")
}

/// The server of a scenario, on a port that the system chose.
struct Served {
    child: Child,
    url: String,
}

impl Served {
    fn start(args: &[&str]) -> Self {
        let args = [args, &["--serve", "127.0.0.1:0"]].concat();
        let mut command = stagger(&args);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("built");
        let mut line = String::new();
        let mut errors = BufReader::new(child.stderr.take().expect("piped"));
        errors.read_line(&mut line).expect("it says where it listens");
        let url = line.split_whitespace().find_map(|word| word.strip_suffix(','));
        let url = url.unwrap_or_else(|| panic!("{line} names a URL")).to_owned();
        Self { child, url }
    }

    /// Its last words, after Ctrl-C.
    fn interrupted(mut self) -> (String, bool) {
        interrupt(&self.child);
        let mut printed = String::new();
        self.child.stdout.take().expect("piped").read_to_string(&mut printed).expect("UTF-8");
        (printed, self.child.wait().expect("a child can be waited for").success())
    }
}

fn interrupt(child: &Child) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.expect("there is kill").success());
}

#[test]
fn callers_and_their_server_counted_differently_over_sockets() {
    let served = Served::start(&DOWN);
    let against = [&DOWN[..], &["--law", "full,none", "--against", &served.url]].concat();
    let output = ended(&[&against[..], &["--format", "json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page: Value = serde_json::from_slice(&output.stdout).expect("one JSON value");
    let rows = page["rows"].as_array().expect("rows");
    let attempts = rows.iter().map(|row| {
        assert_eq!((&row["end"], &row["unfinished"]), (&"complete".into(), &0.into()), "{row}");
        assert_eq!(row["deviation"]["attempts"], 0.0, "{row}");
        (row["row"].as_str().expect("a name"), row["measured"]["attempts"].as_u64())
    });
    let attempts: Vec<_> = attempts.collect();
    assert_eq!(attempts, [("no-retry", Some(30)), ("none", Some(90)), ("full", Some(90))]);
    assert_eq!(rows[2]["statuses"], serde_json::json!({"503": 90}));
    let table = ended(&against);
    let table = String::from_utf8(table.stdout).expect("UTF-8");
    for line in ["attempts            90        90     +0.0 %", "success            0 %       0 %"]
    {
        assert!(table.contains(line), "{table}");
    }
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    let (printed, good) = served.interrupted();
    assert_eq!(
        (printed.as_str(), good),
        ("6 runs, 420 attempts, 0 of them without an answer, 0 of no run\n", true)
    );
}

#[test]
fn a_server_of_other_rows_answered_for_them() {
    let served = Served::start(&[&DOWN[..], &["--law", "full"]].concat());
    // The same server stands behind every row, so that a name it does not have is no matter.
    let args =
        [&DOWN[..], &["--law", "equal", "--format", "csv", "--against", &served.url]].concat();
    let output = ended(&args);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let first: Vec<&str> = text.lines().map(|line| line.split(',').next().unwrap_or("")).collect();
    assert_eq!(first, ["row", "no-retry", "equal"]);
    assert!(text.lines().skip(1).all(|line| line.ends_with(",complete")), "{text}");
}

#[test]
fn a_storm_was_sent_to_another_machine_or_beyond_a_bound() {
    let here = "http://127.0.0.1:9/";
    for (args, words) in [
        (&["--against", "http://shop.example/"][..], "--yes-really shop.example"),
        (&["--against", "http://localhost.evil.example/"], "is not this machine"),
        (&["--against", "http://shop.example/", "--yes-really", "example"], "names 'example'"),
        (&["--against", "https://127.0.0.1/"], "begin with http://"),
        (&["--against", here, "--most-rate", "10"], "30 attempts in its busiest second"),
        (&["--against", here, "--most-connections", "3"], "30 attempts in flight"),
        (&["--against", here, "--most-time", "1ms", "--law", "none"], "the bound is 1ms"),
        (&["--against", here, "--most-time", "11m"], "at most 600s"),
        (&["--against", here, "--most-rate", "20001"], "1..=20000"),
        (&["--against", here, "--serve", "127.0.0.1:0"], "cannot be used with"),
        (&["--against", here, "--runs", "2"], "cannot be used with"),
        (&["--yes-really", "shop.example"], "--against"),
        (&["--serve", "0.0.0.0:0"], "can be reached from other machines"),
        (&["--serve", "here"], "--serve"),
    ] {
        let refused = refusal(args);
        assert!(refused.contains(words), "{args:?}: {refused}");
    }
    for (args, words) in [
        (["storm", "stall", "--against", here], "has 4 cases"),
        (["storm", "layers", "--against", here], "has 2 cases"),
        (["storm", "list", "--against", here], "does not apply to 'list'"),
        (["storm", "shapes", "--serve", "127.0.0.1:0"], "does not apply to 'shapes'"),
    ] {
        let output = ended(&args);
        let refused = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && refused.contains(words), "{args:?}: {refused}");
    }
}

#[test]
fn an_interrupted_run_printed_nothing() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", silent.local_addr().expect("it is bound"));
    let args =
        ["storm", "herd", "--callers", "5", "--up-at", "9s", "--law", "full", "--against", &url];
    let mut command = stagger(&args);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("built");
    let mut errors = BufReader::new(child.stderr.take().expect("piped"));
    let mut line = String::new();
    errors.read_line(&mut line).expect("it says which row begins");
    assert!(line.starts_with("no-retry: about"), "{line}");
    interrupt(&child);
    let mut printed = String::new();
    child.stdout.take().expect("piped").read_to_string(&mut printed).expect("UTF-8");
    assert!(child.wait().expect("a child can be waited for").success());
    assert!(printed.contains("no-retry: interrupted"), "{printed}");
    assert!(printed.contains("1 of 2 rows were not begun"), "{printed}");
}
