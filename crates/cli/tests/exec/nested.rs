//! Layers of retries do not multiply: case A1.

use super::tool::{end, run, tool};

#[test]
fn three_times_three_attempts_became_nine() {
    let tool = env!("CARGO_BIN_EXE_stagger");
    let outer = ["--base", "1ms", "--", tool, "exec", "--base", "1ms"];
    let inner = ["--", "sh", "-c", "echo attempt; exit 1"];
    let end = run(&[&outer[..], &inner[..]].concat());
    assert_eq!((end.code, end.stdout.lines().count()), (Some(1), 3));
    assert!(
        end.stderr.contains("no retries inside another stagger exec; --nested"),
        "{}",
        end.stderr
    );
    let end = run(&[&outer[..], &["--nested"], &inner[..]].concat());
    assert_eq!((end.code, end.stdout.lines().count()), (Some(1), 9));
}

#[test]
fn a_call_of_one_attempt_took_the_retries_of_the_command_in_it() {
    let tool = env!("CARGO_BIN_EXE_stagger");
    let inner = [tool, "exec", "--base", "1ms", "--", "sh", "-c", "echo attempt; exit 1"];
    let once = run(&[&["--attempts", "1", "--"][..], &inner].concat());
    assert_eq!((once.code, once.stdout.lines().count()), (Some(1), 3), "{}", once.stderr);
    let middle = [&[tool, "exec", "--attempts", "1", "--"][..], &inner].concat();
    let layers = run(&[&["--attempts", "2", "--base", "1ms", "--"][..], &middle].concat());
    assert_eq!(layers.stdout.lines().count(), 2, "the outermost one retries: {}", layers.stderr);
}

#[test]
fn an_empty_variable_was_taken_for_another_call_around_this_one() {
    let mut command = tool(&["--base", "1ms", "--", "sh", "-c", "echo attempt; exit 1"]);
    let end = end(command.env("STAGGER_ATTEMPT", "").spawn().expect("built for this test"));
    assert_eq!(end.stdout.lines().count(), 3, "{}", end.stderr);
}
