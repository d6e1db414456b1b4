//! Output that is worth a retry, hints by output and by exit code, and cool-offs that are kept for later runs.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use rustix::fs::{FlockOperation, flock};
use rustix::process::Signal;

use super::scratch::Scratch;
use super::tool::{End, UnderWay, run, tool};

const FAST: [&str; 5] = ["-q", "--base", "1ms", "--output", "buffer"];

fn fast(flags: &[&str], script: &str) -> End {
    run(&[&FAST, flags, &["--", "sh", "-c", script]].concat())
}

#[test]
fn a_failure_that_only_the_output_tells_was_a_success() {
    let script = "echo line; [ $STAGGER_ATTEMPT = 3 ] || echo 'error: database is locked' >&2";
    let end = fast(&["--retry-on-output", "database is (locked|busy)$"], script);
    assert_eq!((end.code, end.stdout.as_str()), (Some(0), "line\n"));
    let always = "echo 'error: database is locked'";
    let end = fast(&["--retry-on-output", "locked"], always);
    assert_eq!((end.code, end.stdout.as_str()), (Some(1), ""), "no success at the last attempt");
}

#[test]
fn a_failure_without_the_line_was_retried_although_no_code_is() {
    let flags =
        ["--no-retry-on-exit", "--retry-on-output", "(?i)connection reset", "--output", "last"];
    let flags = [&["-q", "--base", "1ms"], &flags[..]].concat();
    let script = |said: &str| format!("echo {said} >&2; exit 8");
    for (said, attempts) in [("Connection Reset by peer", 3), ("no such file", 1)] {
        let script = script(said);
        let log = [&flags[..], &["--log", "-", "--", "sh", "-c", &script]].concat();
        let end = run(&log);
        let lines = end.stderr.lines().filter(|line| line.starts_with('{')).count();
        assert_eq!((end.code, lines), (Some(8), attempts), "{}", end.stderr);
    }
}

#[test]
fn a_pattern_was_silently_ignored_where_stagger_sees_no_output() {
    for flag in ["--retry-on-output=x", "--hint-on-output"] {
        let end = run(&[flag, "--", "true"]);
        assert_eq!(end.code, Some(2));
        assert!(end.stderr.contains("needs --output buffer or --output last"), "{}", end.stderr);
    }
    let end = run(&["--output", "buffer", "--retry-on-output", "(", "--", "true"]);
    assert!(end.code == Some(2) && end.stderr.contains("regular expression"), "{}", end.stderr);
}

#[test]
fn a_hint_in_the_output_or_by_code_was_passed_over() {
    let script = "echo 'HTTP/1.1 503'; echo 'Retry-After: 3600' >&2; exit 22";
    let end = run(&["--output", "buffer", "--hint-on-output", "--", "sh", "-c", script]);
    assert_eq!(end.code, Some(22));
    assert!(
        end.stderr.contains("attempt 1 of 3 exited with 22; hint exceeds the longest wait"),
        "{}",
        end.stderr
    );
    let end =
        run(&["--hint-on-exit", "75=1h", "--hint-on-exit", "1=1ms", "--", "sh", "-c", "exit 75"]);
    assert!(end.stderr.contains("hint exceeds the longest wait"), "{}", end.stderr);
    let end = run(&["--hint-on-exit", "75=30s", "--deadline", "10s", "--", "sh", "-c", "exit 75"]);
    assert!(end.stderr.contains("hint exceeds the deadline"), "{}", end.stderr);
}

#[test]
fn a_hint_shorter_than_the_wait_was_not_waited_for() {
    let flags = ["--jitter", "none", "--hint-on-output", "--log", "-"];
    let end = fast(&flags, "echo retry-after: 0.2; [ $STAGGER_ATTEMPT = 2 ]");
    let line = end.stderr.lines().next().expect("the first attempt");
    let delay = line.split("\"delay_ms\":").nth(1).and_then(|rest| rest.split(',').next());
    let delay: u64 = delay.and_then(|delay| delay.parse().ok()).expect("a delay");
    assert!((200..=300).contains(&delay), "{line}");
}

#[test]
fn a_later_run_called_a_destination_that_asked_to_be_left_alone() {
    let scratch = Scratch::new("cool-off");
    let file = scratch.name("api");
    let keep = ["--cool-off-file", &file, "--hint-on-exit", "75=1h"];
    let end = run(&[&keep[..], &["--", "sh", "-c", "exit 75"]].concat());
    assert_eq!(end.code, Some(75), "{}", end.stderr);
    let mode = fs::metadata(&file).expect("it was made").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let end = run(&["--cool-off-file", &file, "--", "echo", "called"]);
    assert_eq!((end.code, end.stdout.as_str()), (Some(75), ""));
    assert!(
        end.stderr.contains(&format!("no attempt: cool-off in {file}, for ")),
        "{}",
        end.stderr
    );
    assert_eq!(fs::read_dir(scratch.folder()).expect("there").count(), 1, "no drafts are left");
    let other = scratch.name("other");
    let end = run(&["--cool-off-file", &other, "--", "echo", "called"]);
    assert_eq!((end.code, end.stdout.as_str()), (Some(0), "called\n"), "another destination");
}

#[test]
fn a_short_cool_off_was_not_waited_for_or_began_beyond_the_deadline() {
    let scratch = Scratch::new("short");
    let file = scratch.name("api");
    let keep = |time: &str| {
        let hint = format!("1={time}");
        let flags = ["-q", "--attempts", "1", "--cool-off-file", &file, "--hint-on-exit", &hint];
        assert_eq!(run(&[&flags[..], &["--", "false"]].concat()).code, Some(1));
    };
    // Longer than a busy machine takes to begin the next run.
    keep("4s");
    let end = run(&["--cool-off-file", &file, "--", "echo", "called"]);
    assert_eq!((end.code, end.stdout.as_str()), (Some(0), "called\n"));
    assert!(end.stderr.contains("first attempt in "), "{}", end.stderr);
    keep("20s");
    let end = run(&["--deadline", "5s", "--cool-off-file", &file, "--", "echo", "called"]);
    assert_eq!((end.code, end.stdout.as_str()), (Some(75), ""));
    assert!(end.stderr.contains("ends past the deadline"), "{}", end.stderr);
    let mut under_way =
        UnderWay::start(&mut tool(&["--cool-off-file", &file, "--", "echo", "called"]));
    assert!(under_way.message().contains("first attempt in "));
    under_way.send(Signal::TERM);
    let end = under_way.end();
    assert_eq!((end.signal, end.stdout.as_str()), (Some(Signal::TERM.as_raw()), ""));
}

#[test]
fn a_link_in_a_folder_of_everybody_was_followed() {
    let scratch = Scratch::new("links");
    let precious = scratch.write("precious", "what was there");
    let link = scratch.name("link");
    symlink(&precious, &link).expect("made");
    symlink(scratch.path("nowhere"), scratch.path("dangling")).expect("made");
    for flag in ["--cool-off-file", "--budget-file"] {
        for place in [&link, &scratch.name("dangling")] {
            let end = run(&[flag, place, "--", "echo", "ran"]);
            assert_eq!((end.code, end.stdout.as_str()), (Some(2), ""), "{}", end.stderr);
            assert!(end.stderr.contains("must be a regular file, and is a link"), "{}", end.stderr);
        }
        let end = run(&[flag, &precious, "--", "echo", "ran"]);
        assert!(end.code == Some(2) && end.stderr.contains("damaged"), "{}", end.stderr);
    }
    assert_eq!(scratch.read("precious"), "what was there");
    assert!(!scratch.path("nowhere").exists());
}

#[test]
fn a_process_that_held_the_lock_stopped_all_others() {
    let scratch = Scratch::new("locked");
    let file = scratch.name("state");
    for flag in ["--cool-off-file", "--budget-file"] {
        assert_eq!(run(&[flag, &file, "--", "true"]).code, Some(0));
        let held = fs::File::open(&file).expect("just made");
        flock(&held, FlockOperation::LockExclusive).expect("free");
        let end = run(&[flag, &file, "--deadline", "200ms", "--", "echo", "ran"]);
        assert_eq!((end.code, end.stdout.as_str()), (Some(2), ""), "{}", end.stderr);
        assert!(end.stderr.contains("has held its lock for 200ms"), "{}", end.stderr);
        drop(held);
        fs::remove_file(&file).expect("ours");
    }
}

#[test]
fn a_damaged_cool_off_was_none() {
    let scratch = Scratch::new("damaged-cool-off");
    let file = scratch.write("state", "{}");
    let end = run(&["--cool-off-file", &file, "--", "echo", "ran"]);
    assert_eq!((end.code, end.stdout.as_str()), (Some(2), ""));
    assert!(end.stderr.contains("damaged, or no cool-off file"), "{}", end.stderr);
    let empty = scratch.write("empty", "");
    assert_eq!(run(&["--cool-off-file", &empty, "--", "true"]).code, Some(0), "as mktemp makes it");
    let script = format!("echo x > '{empty}'; exit 3");
    let flags = ["-q", "--attempts", "1", "--cool-off-file", &empty, "--hint-on-exit", "3=5s"];
    let end = run(&[&flags[..], &["--", "sh", "-c", &script]].concat());
    assert_eq!(end.code, Some(3));
    assert!(end.stderr.contains("the cool-off is not kept: "), "{}", end.stderr);
}
