//! `--until`: checks and probes that decide whether an attempt succeeded.

use std::net::TcpListener;
use std::process::Stdio;

use rustix::process::Signal;
use stagger_testkit::server::{BlockingServer, Reaction, RefusingPort, Script};

use super::scratch::Scratch;
use super::tool::{UnderWay, lives, run, tool};

const FAST: [&str; 4] = ["--base", "1ms", "--attempts", "5"];

#[test]
fn a_command_that_succeeded_before_its_check_did_was_not_repeated() {
    let scratch = Scratch::new("until");
    let counted = scratch.name("counted");
    let check = format!("[ $(wc -l < '{counted}') -ge 3 ]");
    for code in [0, 7] {
        let script = format!("echo round; echo x >> '{counted}'; exit {code}");
        let end = run(&[&FAST[..], &["--until", &check, "--", "sh", "-c", &script]].concat());
        assert_eq!((end.code, end.stdout.as_str()), (Some(0), "round\nround\nround\n"), "{code}");
        assert!(end.stderr.contains("attempt 3 of 5 passed its checks"), "{}", end.stderr);
        std::fs::remove_file(&counted).expect("just written");
    }
}

#[test]
fn a_check_that_never_holds_gave_the_code_of_a_command_that_succeeded() {
    let end = run(&["--base", "1ms", "-q", "--until", "exit 9", "--", "true"]);
    assert_eq!((end.code, end.stderr.as_str()), (Some(9), ""));
    let end = run(&["--base", "1ms", "--until", "exit 9", "--", "true"]);
    assert!(
        end.stderr.contains("3 of 3 failed its check `exit 9`: exited with 9"),
        "{}",
        end.stderr
    );
    let log = run(&[
        "--base", "1ms", "-q", "--log", "-", "--until", "exit 9", "--", "sh", "-c", "exit 4",
    ]);
    let line = log.stderr.lines().next().expect("an attempt");
    assert!(line.starts_with(r#"{"attempt":1,"outcome":"unready","exit":4,"#), "{line}");
}

#[test]
fn output_of_a_check_got_into_that_of_the_command() {
    let args = ["--until", "echo checked; echo $STAGGER_ATTEMPT", "--", "echo", "result"];
    for mode in ["stream", "buffer", "last"] {
        let end = run(&[&["--output", mode], &args[..]].concat());
        let all = (end.code, end.stdout.as_str(), end.stderr.as_str());
        assert_eq!(all, (Some(0), "result\n", "checked\n1\n"), "{mode}");
    }
}

#[test]
fn a_port_that_opens_late_was_not_waited_for() {
    let closed = RefusingPort::hold().expect("a port that refuses");
    let url = closed.url("/").replace("http://", "tcp://");
    let end = run(&["--base", "1ms", "--until", &url]);
    assert_eq!((end.code, end.stdout.as_str()), (Some(1), ""));
    assert!(
        end.stderr.contains("attempt 3 of 3 failed its check tcp://127.0.0.1:"),
        "{}",
        end.stderr
    );
    assert!(end.stderr.contains("onnection refused"), "{}", end.stderr);
    let open = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = format!("tcp://{}", open.local_addr().expect("bound"));
    let end = run(&["--until", &address, "--", "echo", "ran"]);
    assert_eq!((end.code, end.stdout.as_str(), end.stderr.as_str()), (Some(0), "ran\n", ""));
}

#[test]
fn a_server_that_answered_an_error_was_ready() {
    let replies = [503, 404, 200].map(Reaction::status);
    let server = BlockingServer::start(Script::of(replies));
    let end = run(&[&FAST[..], &["--until", &server.url("/ready")]].concat());
    assert_eq!(end.code, Some(0), "{}", end.stderr);
    assert_eq!(server.seen().len(), 3);
    assert!(end.stderr.contains("/ready: the reply is 400 or more"), "{}", end.stderr);
    let down = RefusingPort::hold().expect("a port that refuses");
    let end = run(&["--base", "1ms", "--until", &down.url("/")]);
    assert_eq!(end.code, Some(7), "{}", end.stderr);
}

#[test]
fn one_of_several_checks_was_enough() {
    let end = run(&["--base", "1ms", "--until", "true", "--until", "exit 5"]);
    assert_eq!(end.code, Some(5), "{}", end.stderr);
    assert_eq!(run(&["--until", "true", "--until", "true"]).code, Some(0));
}

#[test]
fn a_check_that_hangs_held_the_call_up() {
    let limits = ["--attempts", "1", "--grace", "50ms", "--hook-timeout", "1s"];
    let check = "trap '' TERM; echo $$ >&2; while :; do sleep 0.01; done";
    let end = run(&[&limits[..], &["--until", check, "--", "true"]].concat());
    assert_eq!(end.code, Some(124), "{}", end.stderr);
    let pid = end.stderr.lines().next().expect("its process id");
    assert!(!lives(pid), "{}", end.stderr);
    let deadline = ["--deadline", "200ms", "--grace", "50ms", "--until", "exec sleep 60"];
    let end = run(&[&deadline[..], &["--", "true"]].concat());
    assert_eq!(end.code, Some(124), "{}", end.stderr);
}

#[test]
fn a_signal_during_a_check_left_it_running() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let check = "echo $$ >&2; exec sleep 60";
        let mut under_way = UnderWay::start(&mut tool(&["--until", check, "--", "true"]));
        let pid = under_way.message();
        under_way.send(signal);
        let end = under_way.end();
        assert_eq!((end.code, end.signal), (Some(code), Some(signal.as_raw())));
        assert!(!lives(&pid) && !end.stderr.contains("attempt 2"), "{}", end.stderr);
    }
}

#[test]
fn a_daemon_outlived_an_attempt_whose_check_failed() {
    let scratch = Scratch::new("daemon");
    let pids = scratch.name("pids");
    let start = format!("sleep 60 > /dev/null 2>&1 & echo $! >> '{pids}'");
    let ready = format!("[ $(wc -l < '{pids}') -ge 2 ]");
    let args = ["--until", &ready, "--grace", "1s", "--", "sh", "-c", &start];
    let end = run(&[&FAST[..], &args].concat());
    assert_eq!(end.code, Some(0), "{}", end.stderr);
    let pids = scratch.read("pids");
    let daemons: Vec<&str> = pids.lines().collect();
    assert_eq!(daemons.iter().map(|pid| lives(pid)).collect::<Vec<_>>(), [false, true]);
    let last = daemons[1].parse().ok().and_then(rustix::process::Pid::from_raw).expect("an id");
    rustix::process::kill_process(last, Signal::KILL).expect("it is this test's");
}

#[test]
fn a_command_that_is_not_there_was_checked_all_the_same() {
    let end = run(&["--until", "echo checked", "--", "/nonesuch/command"]);
    assert_eq!((end.code, end.stdout.as_str()), (Some(127), ""));
    assert!(!end.stderr.contains("checked"), "{}", end.stderr);
}

#[test]
fn a_check_read_the_standard_input_of_the_command() {
    let mut command =
        tool(&["--until", "! read line", "--", "sh", "-c", "read line; echo \"$line\""]);
    let mut under_way = UnderWay::start(command.stdin(Stdio::piped()));
    under_way.type_in("first\nsecond\n");
    assert_eq!(under_way.end().stdout, "first\n");
}
