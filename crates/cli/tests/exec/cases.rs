//! The cases S1 to S5: what went wrong in other people's tools.

use std::fs::OpenOptions;
use std::io::Write;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use super::scratch::Scratch;
use super::tool::{UnderWay, end, run, tool};

/// tirsen/retry-cli #3.
#[test]
fn s1_ctrl_c_was_a_failure_and_the_command_was_started_again() {
    let script = "echo attempt $STAGGER_ATTEMPT; exec sleep 60";
    let mut tool = tool(&["--attempts", "5", "--base", "1ms", "--", "sh", "-c", script]);
    let mut under_way = UnderWay::start(&mut tool);
    assert_eq!(under_way.line(), "attempt 1");
    under_way.send(Signal::INT);
    let end = under_way.end();
    assert_eq!((end.code, end.stdout.as_str()), (Some(130), ""));
}

#[test]
fn s1_a_command_that_says_130_of_itself_was_started_again() {
    let end = run(&["--attempts", "5", "--base", "1ms", "--", "sh", "-c", "echo once; exit 130"]);
    assert_eq!((end.code, end.stdout.as_str()), (Some(130), "once\n"));
}

#[test]
fn s1_a_command_that_tidied_up_after_ctrl_c_was_started_again() {
    let script = "trap 'echo tidied; exit 1' INT; echo ready; while :; do sleep 0.01; done";
    let mut under_way = UnderWay::start(&mut tool(&["--base", "1ms", "--", "sh", "-c", script]));
    assert_eq!(under_way.line(), "ready");
    under_way.send(Signal::INT);
    let end = under_way.end();
    assert_eq!((end.code, end.stdout.as_str()), (Some(130), "tidied\n"));
}

/// minfrin/retry #20.
#[test]
fn s2_a_loop_over_lines_ran_once_because_the_tool_had_read_them_all() {
    let mut shell = Command::new("sh");
    let script = r#"while read line; do "$0" exec -- true; echo "$line"; done"#;
    shell.args(["-c", script, env!("CARGO_BIN_EXE_stagger")]);
    shell.stdin(Stdio::piped()).stdout(Stdio::piped()).env_remove("STAGGER_ATTEMPT");
    let mut child = shell.spawn().expect("there is a shell");
    child.stdin.take().expect("piped").write_all(b"1\n2\n3\n").expect("the loop reads");
    assert_eq!(end(child).stdout, "1\n2\n3\n");
}

#[test]
fn s2_the_second_attempt_had_nothing_to_read() {
    let args = ["--stdin", "buffer", "--attempts", "2", "--base", "1ms", "--", "sh", "-c"];
    let script = "cat; exit $((2 - STAGGER_ATTEMPT))";
    let mut command = tool(&[&args[..], &[script]].concat());
    let mut child = command.stdin(Stdio::piped()).spawn().expect("built for this test");
    child.stdin.take().expect("piped").write_all(b"the bytes\n").expect("it reads");
    let end = end(child);
    assert_eq!((end.code, end.stdout.as_str()), (Some(0), "the bytes\nthe bytes\n"));
}

/// nick-fields/retry #98.
#[test]
fn s2_a_command_waited_for_input_that_nobody_would_write() {
    let mut command = tool(&["--stdin", "null", "--", "cat"]);
    let mut child = command.stdin(Stdio::piped()).spawn().expect("built for this test");
    let open = child.stdin.take();
    assert_eq!(end(child).code, Some(0));
    drop(open);
}

#[test]
fn s2_more_input_than_was_allowed_for_was_cut_short_in_silence() {
    let mut command = tool(&["--stdin", "buffer:4B", "--", "cat"]);
    let mut child = command.stdin(Stdio::piped()).spawn().expect("built for this test");
    child.stdin.take().expect("piped").write_all(b"12345").expect("it reads");
    let end = end(child);
    assert_eq!((end.code, end.stdout.as_str()), (Some(2), ""));
    assert!(end.stderr.contains("more than 4 bytes"), "{}", end.stderr);
}

/// nick-fields/retry #124: no exit code, so the filter for exit codes said no.
#[test]
fn s3_a_timeout_was_not_retried_because_it_had_no_exit_code() {
    let script = "echo attempt $STAGGER_ATTEMPT; exec sleep 60";
    let limits = ["--attempt-timeout", "100ms", "--attempts", "2", "--base", "1ms"];
    let command = ["--retry-on-exit", "2", "--", "sh", "-c", script];
    let end = run(&[&limits[..], &command[..]].concat());
    assert_eq!((end.code, end.stdout.as_str()), (Some(124), "attempt 1\nattempt 2\n"));
    let end = run(&[&limits[..], &["--retry-on-timeout", "no"], &command[..]].concat());
    assert_eq!((end.code, end.stdout.as_str()), (Some(124), "attempt 1\n"));
}

/// nick-fields/retry #145: only the shell died, and its children raced attempt 2.
#[test]
fn s3_children_of_a_timed_out_command_raced_the_second_attempt() {
    let scratch = Scratch::new("race");
    let script = r#"
        if [ "$STAGGER_ATTEMPT" = 2 ]; then
            kill -0 "$(cat "$0")" && echo raced || echo alone
            exit 0
        fi
        (trap '' TERM; while :; do sleep 0.01; done) &
        echo $! > "$0"
        wait"#;
    let limits = ["--attempt-timeout", "200ms", "--grace", "100ms", "--base", "1ms"];
    let end = run(&[&limits[..], &["--", "sh", "-c", script, &scratch.name("pid")]].concat());
    assert_eq!((end.code, end.stdout.as_str()), (Some(0), "alone\n"));
}

#[test]
fn s3_what_a_failed_command_left_behind_raced_the_second_attempt() {
    let scratch = Scratch::new("left");
    let script = r#"
        if [ "$STAGGER_ATTEMPT" = 2 ]; then
            kill -0 "$(cat "$0")" && echo raced || echo alone
            exit 0
        fi
        sleep 60 >&- 2>&- &
        echo $! > "$0"
        exit 1"#;
    let end = run(&["--base", "1ms", "--", "sh", "-c", script, &scratch.name("pid")]);
    assert_eq!((end.code, end.stdout.as_str()), (Some(0), "alone\n"));
}

/// curl/curl #17371.
#[test]
fn s4_the_tool_truncated_what_it_had_not_opened() {
    let scratch = Scratch::new("truncated");
    for mode in ["stream", "buffer", "last"] {
        let path = scratch.write(mode, "what was there\n");
        let out = OpenOptions::new().append(true).open(&path).expect("just written");
        let script = "echo attempt $STAGGER_ATTEMPT; exit 3";
        let args = ["--attempts", "2", "--base", "1ms", "--output", mode, "--", "sh", "-c", script];
        let code = tool(&args).stdout(out).status().expect("built for this test").code();
        let whole = scratch.read(mode);
        let expected = match mode {
            "stream" => "what was there\nattempt 1\nattempt 2\n",
            "last" => "what was there\nattempt 2\n",
            _ => "what was there\n",
        };
        assert_eq!((code, whole.as_str()), (Some(3), expected));
    }
    let null = OpenOptions::new().write(true).open("/dev/null").expect("every unix has one");
    let args = ["--output", "buffer", "--", "echo", "a 503 body"];
    assert_eq!(tool(&args).stdout(null).status().expect("built").code(), Some(0));
}

/// curl/curl #1084.
#[test]
fn s4_a_pipe_got_a_part_and_then_the_whole() {
    let script = "echo part; [ $STAGGER_ATTEMPT = 2 ] || exit 1; echo rest";
    let end = run(&["--output", "buffer", "--base", "1ms", "--", "sh", "-c", script]);
    assert_eq!((end.code, end.stdout.as_str()), (Some(0), "part\nrest\n"));
}

/// curl/curl #17554.
#[test]
fn s5_a_permanent_failure_became_a_success() {
    let args = ["--attempts", "2", "--base", "1ms", "--retry-on-exit", "7", "--", "sh", "-c"];
    let end = run(&[&args[..], &["echo once; exit 22"]].concat());
    assert_eq!((end.code, end.stdout.as_str()), (Some(22), "once\n"));
}

/// kadwanev/retry #9.
#[test]
fn s5_a_success_at_the_last_attempt_was_called_exhausted() {
    let script = "[ $STAGGER_ATTEMPT = 3 ]";
    let end = run(&["--attempts", "3", "--base", "1ms", "--", "sh", "-c", script]);
    assert_eq!(end.code, Some(0));
    assert!(end.stderr.contains("attempt 3 of 3 succeeded"), "{}", end.stderr);
    assert!(!end.stderr.contains("exhausted"), "{}", end.stderr);
}

#[test]
fn s5_a_clean_first_try_was_talked_about() {
    let end = run(&["--", "true"]);
    assert_eq!((end.code, end.stdout.as_str(), end.stderr.as_str()), (Some(0), "", ""));
}
