//! `stagger watch` on real files, standard input, a page of counters and a page of its own.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use stagger_testkit::server::{BlockingServer, Reaction, Script};

/// Calls of 20 s, a hundred a second; those of the second half fail, and come three times with one id.
fn log(has_storm: bool) -> String {
    let mut csv = String::from("time,status,client,path,id\n");
    for call in 0..2_000_u64 {
        let at = 1_700_000_000_000 + 10 * call;
        let fails = has_storm && call >= 1_000;
        for attempt in 0..if fails { 3 } else { 1 } {
            let status = if fails { 503 } else { 200 };
            csv += &format!("{},{status},10.0.0.{},/orders,{call}\n", at + 3 * attempt, call % 4);
        }
    }
    csv
}

fn file(name: &str, text: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("watch");
    fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join(name);
    fs::write(&path, text).expect("written");
    path
}

fn stagger(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stagger"));
    command.arg("watch").args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn end(child: Child) -> (i32, String, String) {
    let Output { status, stdout, stderr } = child.wait_with_output().expect("it ends");
    let utf8 = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (status.code().unwrap_or(-1), utf8(stdout), utf8(stderr))
}

fn once(arguments: &[&str]) -> (i32, String, String) {
    end(stagger(arguments).spawn().expect("the binary was built for this test"))
}

#[test]
fn a_storm_in_a_file_is_reported_with_its_figures() {
    let path = file("storm.csv", &log(true));
    let (code, report, errors) = once(&["--once", text(&path)]);
    assert_eq!((code, errors.as_str()), (3, ""));
    for part in [
        "RETRY STORM: ",
        "  evidence  ids that all attempts of a call share",
        "  layers    not known: the log has no number of the attempt",
        "  clients   10.0.0.0 ",
        "  routes    /orders 100 % of the retries",
        "  budget    0 % of calls lets 0 of 80 retries a second pass: 1.00 attempts a call",
        "1 storms in 4000 attempts: 4001 lines, 0 malformed, 0 out of time, 0 jumps of the clock",
    ] {
        assert!(report.contains(part), "{part}\n{report}");
    }
}

#[test]
fn a_calm_file_ends_with_nothing_and_a_storm_as_json() {
    let calm = file("calm.csv", &log(false));
    let (code, report, _) = once(&["--once", text(&calm)]);
    assert_eq!(code, 0, "{report}");
    assert!(report.starts_with("0 storms in 2000 attempts"), "{report}");
    let storm = file("storm-json.csv", &log(true));
    let (code, report, _) = once(&["--once", "--format", "json", text(&storm)]);
    assert_eq!(code, 3);
    let lines: Vec<serde_json::Value> =
        report.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let (first, last) = (&lines[0], &lines[lines.len() - 1]);
    assert_eq!(first["event"], "storm-began");
    assert_eq!(first["evidence"], "id");
    assert_eq!(first["window_s"], 5);
    assert!(first["attempts_a_call"].as_f64().expect("a number") >= 1.4, "{first}");
    assert_eq!((&last["event"], &last["storms"]), (&"end".into(), &1.into()));
}

#[test]
fn a_log_that_is_rotated_is_followed_into_the_next_file() {
    let path = file("rotated.csv", &log(false));
    let next = file("rotated.next", &log(true));
    let _ = fs::remove_file(path.with_extension("1"));
    fs::hard_link(&path, path.with_extension("1")).expect("linked");
    let follower = stagger(&["--from-start", "--exit-on-storm", text(&path)]).spawn();
    // In one step, so that there is a whole file of this name whenever the follower looks.
    fs::rename(next, &path).expect("renamed");
    let (code, report, errors) = end(follower.expect("it starts"));
    assert_eq!(code, 3, "{report}{errors}");
    assert!(report.contains("RETRY STORM"), "{report}");
}

#[test]
fn standard_input_is_read_to_its_end_whatever_it_holds() {
    let mut child = stagger(&["-"]).stdin(Stdio::piped()).spawn().expect("it starts");
    let mut input = child.stdin.take().expect("it is piped");
    let long = "x".repeat(1 << 20);
    let all = format!("{}{long}\nnot a line\n1,200,\u{1b}[31m,,\n", log(true));
    input.write_all(all.as_bytes()).expect("it reads");
    drop(input);
    let (code, report, _) = end(child);
    assert_eq!(code, 3);
    assert!(report.contains("4004 lines, 2 malformed, 1 out of time"), "{report}");
}

#[test]
fn what_is_wrong_is_refused_before_anything_is_read() {
    let prose = file("prose.txt", &"Dear all,\n".repeat(40));
    for (arguments, why) in [
        (vec!["--once", text(&prose)], "the format is none of"),
        (vec!["--once", "/nowhere/access.log"], "cannot read /nowhere/access.log"),
        (vec!["--window", "1500ms", "-"], "invalid value '1.5s' for '--window'"),
        (vec!["--attempts-a-call", "1", "-"], "invalid value '1' for '--attempts-a-call'"),
        (vec!["--least-retries", "1", "-"], "invalid value '1' for '--least-retries'"),
        (vec!["--scrape-every", "1ms", "http://127.0.0.1:1/"], "'--scrape-every'"),
        (vec!["--attempts-counter", "a", "http://127.0.0.1:1/"], "--calls-counter"),
        (vec!["--metrics", "localhost", "-"], "--metrics"),
    ] {
        let (code, report, errors) = once(&arguments);
        assert_eq!((code, report.as_str()), (2, ""), "{arguments:?} {errors}");
        assert!(errors.contains(why), "{arguments:?}: {errors}");
    }
}

/// Each look finds a hundred calls more, and from the third look on three attempts for each.
#[test]
fn a_page_of_counters_is_watched_by_its_growth() {
    let pages = (0..20_u32).map(|look| {
        let (calls, retries) = (100 * look, 200 * look.saturating_sub(2));
        Reaction::ok(format!(
            "# TYPE envoy_cluster_upstream_rq_total counter\n\
             envoy_cluster_upstream_rq_total{{envoy_cluster_name=\"shop\"}} {}\n\
             envoy_cluster_upstream_rq_retry{{envoy_cluster_name=\"shop\"}} {retries}\n",
            calls + retries,
        ))
    });
    let server = BlockingServer::start(Script::of(pages));
    let url = format!("http://{}/stats/prometheus", server.address());
    let (code, report, errors) = once(&["--scrape-every", "100ms", "--exit-on-storm", &url]);
    assert_eq!(code, 3, "{report}{errors}");
    assert!(report.contains("  routes    envoy_cluster_name=shop 100 %"), "{report}");
    assert!(server.seen().len() <= 8, "{} looks", server.seen().len());
}

#[test]
fn a_page_without_counters_is_refused() {
    let server = BlockingServer::start(Script::always(Reaction::ok("up 1\n")));
    let (code, _, errors) = once(&[&format!("http://{}/metrics", server.address())]);
    assert_eq!(code, 2);
    assert!(errors.contains("--attempts-counter"), "{errors}");
}

#[test]
fn the_figures_are_served_to_prometheus() {
    let mut child =
        stagger(&["--metrics", "0", "-"]).stdin(Stdio::piped()).spawn().expect("it starts");
    let mut told = String::new();
    BufReader::new(child.stderr.take().expect("it is piped")).read_line(&mut told).expect("a line");
    let address = told.trim().strip_prefix("metrics at http://").expect("where");
    let address = address.strip_suffix("/metrics").expect("the page").to_owned();
    let mut input = child.stdin.take().expect("it is piped");
    input.write_all(log(true).as_bytes()).expect("it reads");
    // The page changes when the lines have been read.
    let page = loop {
        let mut socket = TcpStream::connect(&address).expect("it listens");
        socket
            .write_all(b"GET /metrics HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
            .expect("it reads");
        let mut page = String::new();
        socket.read_to_string(&mut page).expect("it answers");
        if page.contains("stagger_watch_attempts_total 4000\n") {
            break page;
        }
        std::thread::yield_now();
    };
    assert!(page.contains("stagger_watch_storm 1\n"), "{page}");
    assert!(page.contains("stagger_watch_storms_total 1\n"), "{page}");
    drop(input);
    assert_eq!(child.wait().expect("it ends").code(), Some(3));
}
