//! The deadline bounds attempts and waits together.

use super::tool::run;

#[test]
fn the_deadline_left_a_command_running() {
    let script = "echo $$; sleep 60 & echo $!; wait";
    let end = run(&["--deadline", "200ms", "--grace", "100ms", "--", "sh", "-c", script]);
    assert_eq!(end.code, Some(124));
    assert!(end.stderr.contains("deadline exceeded"), "{}", end.stderr);
    assert_eq!(end.stdout.lines().count(), 2);
    assert!(end.stdout.lines().all(|pid| !super::tool::lives(pid)));
}

#[test]
fn it_waited_although_no_attempt_could_follow() {
    let limits = ["--deadline", "5s", "--base", "60s", "--jitter", "none"];
    let end = run(&[&limits[..], &["--", "sh", "-c", "exit 7"]].concat());
    assert_eq!(end.code, Some(7));
    assert!(
        end.stderr.contains("attempt 1 of 3 exited with 7; deadline exceeded"),
        "{}",
        end.stderr
    );
}

#[test]
fn a_command_could_not_know_how_much_time_is_left() {
    let script = "echo $STAGGER_ATTEMPT ${STAGGER_DEADLINE_MS-none}; exit 1";
    let end =
        run(&["--deadline", "60s", "--attempts", "2", "--base", "1ms", "--", "sh", "-c", script]);
    let left = |line: &str, attempt: &str| -> u32 {
        let left = line.strip_prefix(attempt).expect("its number").trim();
        left.parse().expect("milliseconds")
    };
    let lines: Vec<&str> = end.stdout.lines().collect();
    let [first, second] = lines[..] else { panic!("two attempts, not {lines:?}") };
    assert_eq!(left(first, "1"), 60_000);
    assert!(left(second, "2") < 60_000);
    assert_eq!(run(&["--", "sh", "-c", script]).stdout.lines().next(), Some("1 none"));
}
