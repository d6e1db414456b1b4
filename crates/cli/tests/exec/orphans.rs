//! Processes that lose their parent during a call become children of the tool, which waits for them.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;

use rustix::process::{Pid, Signal, kill_process};

use super::tool::{PATIENCE, UnderWay, lives, run, tool};

/// Begins an orphan outside of the attempt's group, which ends at once, and goes on when no process of
/// its number is left, a zombie included.
const WAITED_FOR: &str = "orphan=$(setsid sh -c 'sleep 0.01 >&- & echo $!')
    while [ -e /proc/$orphan ]; do sleep 0.01; done; echo gone";

#[test]
fn an_orphan_was_a_zombie_until_the_attempt_had_ended() {
    for mode in ["stream", "buffer"] {
        let end = run(&["--output", mode, "--", "sh", "-c", WAITED_FOR]);
        assert_eq!((end.code, end.stdout.as_str()), (Some(0), "gone\n"), "{mode}: {}", end.stderr);
    }
}

#[test]
fn an_orphan_was_a_zombie_during_the_wait_between_two_attempts() {
    let script = "setsid sh -c 'sleep 60 >&- 2>&- & echo $!'; exit 1";
    let args = ["--base", "60s", "--jitter", "none", "--", "sh", "-c", script];
    let mut under_way = UnderWay::start(&mut tool(&args));
    let orphan = under_way.line();
    assert!(under_way.message().ends_with("next in 60s"));
    let pid = orphan.parse().ok().and_then(Pid::from_raw).expect("a process id");
    kill_process(pid, Signal::KILL).expect("it left its group, so it lives on");
    let (gone, is_gone) = mpsc::channel();
    thread::spawn(move || {
        while lives(&orphan) {
            thread::yield_now();
        }
        gone.send(())
    });
    is_gone.recv_timeout(PATIENCE).expect("the tool waits for its orphans");
    under_way.send(Signal::TERM);
    assert_eq!(under_way.end().code, Some(143));
}

#[test]
fn an_orphan_that_ended_with_the_command_had_its_exit_code_taken() {
    let script = "for i in 1 2 3 4 5 6 7 8 9; do (exit 3 & exit 4 & setsid true &); done; exit 7";
    for attempt in 1..=20 {
        let end = run(&["--base", "1ms", "-q", "--", "sh", "-c", script]);
        assert_eq!(end.code, Some(7), "call {attempt}: {}", end.stderr);
    }
}

#[test]
fn where_ends_of_children_are_ignored_the_exit_code_was_lost() {
    // Not every sh can ignore this signal; bash can.
    let script = r#"trap '' CHLD; exec "$0" exec --attempts 1 -- sh -c 'exit 7'"#;
    let mut shell = Command::new("bash");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_stagger")]).env_remove("STAGGER_ATTEMPT");
    let end = shell.stdin(Stdio::null()).stderr(Stdio::null()).status().expect("bash is there");
    assert_eq!(end.code(), Some(7));
}

#[test]
fn process_1_of_a_container_left_zombies() {
    let namespace = ["--user", "--map-root-user", "--pid", "--fork", "--mount-proc"];
    let unshare = |args: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(namespace).args(args).env_remove("STAGGER_ATTEMPT");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let allowed = unshare(&["true"]).status().is_ok_and(|status| status.success());
    if !allowed || !Path::new("/proc/self/ns/pid").exists() {
        // The tests above show the same of a process that is not the first one.
        return;
    }
    let script = format!("{WAITED_FOR}; [ $PPID = 1 ] && [ $STAGGER_ATTEMPT = 2 ]");
    let command = ["exec", "--base", "1ms", "--", "sh", "-c", &script];
    let end =
        UnderWay::start(&mut unshare(&[&[env!("CARGO_BIN_EXE_stagger")], &command[..]].concat()))
            .end();
    assert_eq!((end.code, end.stdout.as_str()), (Some(0), "gone\ngone\n"), "{}", end.stderr);
}
