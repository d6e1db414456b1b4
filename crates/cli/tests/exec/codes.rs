//! The table of exit codes in docs/exec.md, row by row.

use super::scratch::Scratch;
use super::tool::run;

/// The code of a script that never succeeds, and how many attempts it had.
#[track_caller]
fn code(flags: &[&str], script: &str) -> (Option<i32>, usize) {
    let script = format!("echo attempt; {script}");
    let limits = ["--attempts", "3", "--base", "1ms"];
    let end = run(&[&limits[..], flags, &["--", "sh", "-c", &script]].concat());
    (end.code, end.stdout.lines().count())
}

#[test]
fn seven_became_something_else_on_its_way_out() {
    let end = run(&["--attempts", "3", "--base", "10ms", "--", "sh", "-c", "echo x; exit 7"]);
    assert_eq!((end.code, end.stdout.as_str()), (Some(7), "x\nx\nx\n"));
    for own in [1, 2, 42, 124, 125, 255] {
        assert_eq!(code(&[], &format!("exit {own}")), (Some(own), 3));
    }
}

#[test]
fn a_command_that_could_not_run_was_tried_again() {
    assert_eq!(code(&[], "exit 126"), (Some(126), 1));
    assert_eq!(code(&[], "exit 127"), (Some(127), 1));
    let scratch = Scratch::new("codes");
    let plain = scratch.write("plain", "no program");
    for (command, expected) in [("nonesuch-command", 127), (plain.as_str(), 126)] {
        let end = run(&["--base", "1ms", "--", command]);
        assert_eq!((end.code, end.stderr.lines().count()), (Some(expected), 1), "{}", end.stderr);
    }
}

#[test]
fn the_exit_codes_that_were_asked_for_were_not_the_ones_retried() {
    assert_eq!(code(&["--retry-on-exit", "1,3-9"], "exit 5"), (Some(5), 3));
    assert_eq!(code(&["--retry-on-exit", "1,3-9"], "exit 2"), (Some(2), 1));
    assert_eq!(code(&["--retry-on-exit", "127"], "exit 127"), (Some(127), 3));
    assert_eq!(code(&["--no-retry-on-exit"], "exit 5"), (Some(5), 1));
}

#[test]
fn a_command_that_was_killed_had_no_code() {
    assert_eq!(code(&[], "kill -KILL $$"), (Some(137), 1));
    assert_eq!(code(&["--retry-on-signal"], "kill -KILL $$"), (Some(137), 3));
    assert_eq!(code(&["--retry-on-signal"], "kill -TERM $$"), (Some(143), 1));
    assert_eq!(code(&["--retry-on-signal=TERM"], "kill -TERM $$"), (Some(143), 3));
    assert_eq!(code(&["--retry-on-signal=SEGV"], "kill -KILL $$"), (Some(137), 1));
}
