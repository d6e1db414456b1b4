//! `--before-retry` and `--on-failure`: hooks that fail, hang, print, and are interrupted.

use rustix::process::Signal;

use super::scratch::Scratch;
use super::tool::{UnderWay, lives, run, tool};

#[test]
fn a_hook_did_not_know_which_retry_it_is_for() {
    let told = "echo $STAGGER_ATTEMPT $STAGGER_STATUS $STAGGER_OUTCOME $STAGGER_DELAY_MS >&2";
    let script = "exit $((STAGGER_ATTEMPT + 6))";
    let flags = ["-q", "--base", "20ms", "--jitter", "none", "--before-retry", told];
    let end = run(&[&flags[..], &["--", "sh", "-c", script]].concat());
    assert_eq!((end.code, end.stderr.as_str()), (Some(9), "2 7 exited 20\n3 8 exited 40\n"));
}

#[test]
fn the_final_failure_was_told_once_for_every_attempt_or_for_a_success() {
    let told = "echo $STAGGER_ATTEMPTS $STAGGER_STATUS $STAGGER_OUTCOME $STAGGER_STOP";
    let flags = ["-q", "--base", "1ms", "--on-failure", told, "--"];
    for (command, code, said) in [
        (&["sh", "-c", "exit 4"][..], 4, "3 4 exited attempts_exhausted\n"),
        (&["sh", "-c", "kill -9 $$"], 137, "1 137 signalled permanent\n"),
        (&["sh", "-c", "exit 126"], 126, "1 126 exited permanent\n"),
        (&["/nonesuch/command"], 127, "1 127 not_started permanent\n"),
        (&["sh", "-c", "[ $STAGGER_ATTEMPT = 2 ]"], 0, ""),
    ] {
        let end = run(&[&flags[..], command].concat());
        let all = (end.code, end.stdout.as_str(), end.stderr.as_str());
        assert_eq!(all, (Some(code), "", said), "{command:?}");
    }
}

#[test]
fn output_of_a_hook_got_into_that_of_the_command() {
    for mode in ["stream", "buffer", "last"] {
        let hooks = ["--before-retry", "echo before", "--on-failure", "echo failed"];
        let flags = [&["-q", "--output", mode, "--attempts", "2", "--base", "1ms"], &hooks[..]];
        let end = run(&[&flags.concat()[..], &["--", "sh", "-c", "echo out; exit 1"]].concat());
        let out = match mode {
            "stream" => "out\nout\n",
            "last" => "out\n",
            _ => "",
        };
        assert_eq!((end.stdout.as_str(), end.stderr.as_str()), (out, "before\nfailed\n"), "{mode}");
    }
}

#[test]
fn a_hook_that_fails_changed_the_attempts_or_the_code() {
    let hooks = ["--before-retry", "exit 70", "--on-failure", "exit 71", "--base", "1ms"];
    let end = run(&[&hooks[..], &["--", "sh", "-c", "echo x; exit 5"]].concat());
    assert_eq!((end.code, end.stdout.as_str()), (Some(5), "x\nx\nx\n"));
    assert_eq!(end.stderr.matches("the command of --before-retry exited with 70").count(), 2);
    assert_eq!(end.stderr.matches("the command of --on-failure exited with 71").count(), 1);
    let end = run(&["--before-retry", "if then", "--base", "1ms", "--", "false"]);
    assert_eq!(end.code, Some(1), "a mistake in the script is the hook's: {}", end.stderr);
}

#[test]
fn a_hook_that_hangs_held_the_call_up() {
    let hang = "trap '' TERM; while :; do sleep 0.01; done";
    let limits = ["--hook-timeout", "100ms", "--grace", "50ms", "--attempts", "2", "--base", "1ms"];
    let hooks = ["--before-retry", hang, "--on-failure", hang];
    let end = run(&[&limits[..], &hooks, &["--", "sh", "-c", "echo x; exit 5"]].concat());
    assert_eq!((end.code, end.stdout.as_str()), (Some(5), "x\nx\n"));
    assert!(end.stderr.contains("the command of --before-retry ran out of time"), "{}", end.stderr);
    assert!(end.stderr.contains("the command of --on-failure ran out of time"), "{}", end.stderr);
}

#[test]
fn a_deadline_during_a_hook_hid_the_code_of_the_last_attempt() {
    let flags = ["--deadline", "3s", "--base", "1ms", "--grace", "50ms"];
    let hooks = ["--before-retry", "exec sleep 60", "--on-failure", "echo failed"];
    let end = run(&[&flags[..], &hooks, &["--", "sh", "-c", "echo x; exit 5"]].concat());
    assert_eq!((end.code, end.stdout.as_str()), (Some(5), "x\n"), "{}", end.stderr);
    assert!(end.stderr.ends_with("failed\n"), "{}", end.stderr);
}

#[test]
fn a_signal_during_a_hook_left_it_running_or_began_another_one() {
    for flag in ["--before-retry", "--on-failure"] {
        let attempts = if flag == "--on-failure" { "1" } else { "3" };
        let hook = "echo $$; exec sleep 60";
        let mut flags = vec!["-q", "--attempts", attempts, "--base", "1ms", flag, hook];
        if flag == "--before-retry" {
            flags.extend(["--on-failure", "echo failed"]);
        }
        for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
            let command = [&flags[..], &["--", "sh", "-c", "exit 5"]].concat();
            let mut under_way = UnderWay::start(&mut tool(&command));
            let pid = under_way.message();
            under_way.send(signal);
            let end = under_way.end();
            let all = (end.code, end.signal, end.stderr.as_str());
            assert_eq!(all, (Some(code), Some(signal.as_raw()), ""), "{flag}");
            assert!(!lives(&pid), "{flag}");
        }
    }
}

#[test]
fn a_hook_for_one_shell_failed_in_another_one() {
    let scratch = Scratch::new("shells");
    let seen = scratch.name("seen");
    for shell in ["sh", "dash", "bash"] {
        if std::process::Command::new(shell).args(["-c", ":"]).output().is_err() {
            continue;
        }
        let hook = format!("{shell} -c 'echo \"$STAGGER_ATTEMPT:$STAGGER_STATUS\" >> {seen}'");
        let end = run(&["-q", "--base", "1ms", "--before-retry", &hook, "--", "false"]);
        assert_eq!((end.code, end.stderr.as_str()), (Some(1), ""), "{shell}");
        assert_eq!(scratch.read("seen"), "2:1\n3:1\n", "{shell}");
        std::fs::remove_file(&seen).expect("just written");
    }
}

#[test]
fn the_retries_of_a_notification_were_taken_for_those_of_an_attempt() {
    let hook = format!(
        "'{}' exec -q --base 1ms -- sh -c 'echo try; exit 1'",
        env!("CARGO_BIN_EXE_stagger")
    );
    let end = run(&["-q", "--attempts", "1", "--on-failure", &hook, "--", "false"]);
    assert_eq!((end.code, end.stderr.as_str()), (Some(1), "try\ntry\ntry\n"));
}
