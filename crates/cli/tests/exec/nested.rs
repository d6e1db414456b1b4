//! Layers of retries do not multiply: case A1.

use super::tool::run;

#[test]
fn three_times_three_attempts_became_nine() {
    let tool = env!("CARGO_BIN_EXE_stagger");
    let outer = ["--base", "1ms", "--", tool, "exec", "--base", "1ms"];
    let inner = ["--", "sh", "-c", "echo attempt; exit 1"];
    let end = run(&[&outer[..], &inner[..]].concat());
    assert_eq!((end.code, end.stdout.lines().count()), (Some(1), 3));
    assert!(end.stderr.contains("no retries inside another stagger exec"), "{}", end.stderr);
    let end = run(&[&outer[..], &["--nested"], &inner[..]].concat());
    assert_eq!((end.code, end.stdout.lines().count()), (Some(1), 9));
}
