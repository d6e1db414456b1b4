//! A command ends with everything that it began.

use super::tool::{lives, run};

#[test]
fn a_grandchild_outlived_the_command_that_ran_out_of_time() {
    let script = "sleep 60 & echo $!; sh -c 'sleep 60 & echo $!; wait' & wait";
    let limits = ["--attempt-timeout", "200ms", "--attempts", "2", "--base", "1ms"];
    let end = run(&[&limits[..], &["--", "sh", "-c", script]].concat());
    assert_eq!(end.code, Some(124));
    let pids: Vec<&str> = end.stdout.lines().collect();
    assert_eq!(pids.len(), 4);
    assert!(pids.iter().all(|pid| !lives(pid)), "{pids:?}");
}

#[test]
fn a_command_that_ignores_term_was_waited_for_for_ever() {
    let script = "trap '' TERM; echo $$; while :; do sleep 0.01; done";
    let limits = ["--attempt-timeout", "100ms", "--grace", "100ms", "--attempts", "1"];
    let end = run(&[&limits[..], &["--", "sh", "-c", script]].concat());
    assert_eq!(end.code, Some(124));
    assert!(!lives(&end.stdout));
}

#[test]
fn a_command_was_killed_before_it_could_tidy_up() {
    let script = "trap 'echo tidied; exit 0' TERM; while :; do sleep 0.01; done";
    let limits = ["--attempt-timeout", "100ms", "--grace", "60s", "--attempts", "1"];
    let end = run(&[&limits[..], &["--", "sh", "-c", script]].concat());
    assert_eq!((end.code, end.stdout.as_str()), (Some(124), "tidied\n"));
}

#[test]
fn a_command_that_had_been_stopped_never_heard_term() {
    let limits = ["--attempt-timeout", "100ms", "--grace", "60s", "--attempts", "1"];
    let end = run(&[&limits[..], &["--", "sh", "-c", "kill -STOP $$"]].concat());
    assert_eq!(end.code, Some(124));
}

#[test]
fn a_daemon_that_a_good_command_began_was_killed() {
    let script = "sleep 60 >&- 2>&- & echo $!";
    let end = run(&["--", "sh", "-c", script]);
    assert_eq!(end.code, Some(0));
    assert!(lives(&end.stdout));
    let pid = end.stdout.trim().parse().ok().and_then(rustix::process::Pid::from_raw);
    let kill = rustix::process::Signal::KILL;
    rustix::process::kill_process(pid.expect("a process id"), kill).expect("it lives");
}
