//! The log: a line of JSON for each attempt.

use serde_json::{Value, json};

use super::scratch::Scratch;
use super::tool::run;

/// The lines, without what differs from run to run.
fn lines(text: &str) -> Vec<Value> {
    let parse = |line| {
        let mut line: Value = serde_json::from_str(line).expect("a line is an object");
        assert!(line["duration_ms"].is_u64(), "{line}");
        assert!(line["delay_ms"].is_u64() || line["stop"].is_string(), "{line}");
        let object = line.as_object_mut().expect("a line is an object");
        object.remove("duration_ms");
        object.remove("delay_ms");
        line
    };
    text.lines().map(parse).collect()
}

#[test]
fn nobody_could_tell_afterwards_what_the_attempts_came_to() {
    let scratch = Scratch::new("log");
    let log = scratch.write("log", "");
    let script = "case $STAGGER_ATTEMPT in 1) exit 3;; 2) kill -SEGV $$;; 3) exec sleep 60;; esac";
    let args = ["--attempts", "4", "--base", "1ms", "--retry-on-signal", "-q", "--log", &log];
    let args = [&args[..], &["--attempt-timeout", "200ms", "--", "sh", "-c", script]].concat();
    let end = run(&args);
    assert_eq!((end.code, end.stdout.as_str(), end.stderr.as_str()), (Some(0), "", ""));
    let expected = [
        json!({"attempt": 1, "outcome": "exited", "exit": 3, "signal": null, "stop": null}),
        json!({"attempt": 2, "outcome": "signalled", "exit": null, "signal": 11, "stop": null}),
        json!({"attempt": 3, "outcome": "timed_out", "exit": null, "signal": null, "stop": null}),
        json!({"attempt": 4, "outcome": "exited", "exit": 0, "signal": null, "stop": "succeeded"}),
    ];
    assert_eq!(lines(&scratch.read("log")), expected);
    run(&["--log", &log, "-q", "--", "nonesuch-command"]);
    let all = lines(&scratch.read("log"));
    assert_eq!(all.len(), 5, "what was in the log stays");
    assert_eq!((&all[4]["outcome"], &all[4]["stop"]), (&json!("not_started"), &json!("permanent")));
}

#[test]
fn a_log_on_standard_error_went_to_standard_output() {
    let end = run(&["--log", "-", "-q", "--", "true"]);
    assert_eq!(end.stdout, "");
    assert_eq!(lines(&end.stderr).len(), 1);
}

#[test]
fn a_breaker_ended_the_call_in_silence() {
    let scratch = Scratch::new("breaker");
    let policy = scratch.write("p.toml", "[breaker]\nconsecutive = 2\n");
    let log = scratch.write("log", "");
    let args = ["--policy", &policy, "--attempts", "20", "--base", "1ms", "--log", &log];
    let end = run(&[&args[..], &["--", "sh", "-c", "echo attempt; exit 1"]].concat());
    assert_eq!((end.code, end.stdout.lines().count()), (Some(1), 2), "{}", end.stderr);
    assert!(end.stderr.ends_with("no attempt 3; breaker open\n"), "{}", end.stderr);
    let log = lines(&scratch.read("log"));
    assert_eq!((log.len(), &log[1]["stop"]), (2, &json!("breaker_open")));
}
