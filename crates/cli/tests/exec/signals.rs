//! Signals to the tool, while a command runs and between two attempts.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use super::tool::{UnderWay, lives, tool};

const ENDS: [(Signal, i32); 4] =
    [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129), (Signal::QUIT, 131)];

#[test]
fn a_signal_ended_the_tool_and_left_the_command() {
    for (signal, code) in ENDS {
        let script = "echo $$; exec sleep 60";
        let mut under_way =
            UnderWay::start(&mut tool(&["--base", "1ms", "--", "sh", "-c", script]));
        let pid = under_way.line();
        under_way.send(signal);
        let end = under_way.end();
        assert_eq!((end.code, end.stdout.as_str()), (Some(code), ""));
        assert!(!lives(&pid));
    }
}

#[test]
fn a_signal_became_an_exit_code_and_the_script_around_it_went_on() {
    for signal in [Signal::INT, Signal::TERM] {
        let script = "echo ready; exec sleep 60";
        let mut under_way = UnderWay::start(&mut tool(&["--", "sh", "-c", script]));
        assert_eq!(under_way.line(), "ready");
        under_way.send(signal);
        assert_eq!(under_way.end().signal, Some(signal.as_raw()));
    }
}

#[test]
fn ctrl_c_ended_one_round_of_a_bash_loop_and_the_next_one_began() {
    let script =
        r#"for i in 1 2 3; do "$0" exec -- sh -c 'echo begun; exec sleep 60'; done; echo on"#;
    let mut shell = Command::new("bash");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_stagger")]).env_remove("STAGGER_ATTEMPT");
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A terminal sends Ctrl-C to the whole group: to the script and to the tool.
    let mut under_way = UnderWay::start(shell.process_group(0));
    assert_eq!(under_way.line(), "begun");
    under_way.send_to_group(Signal::INT);
    let end = under_way.end();
    assert_eq!((end.signal, end.stdout.as_str()), (Some(Signal::INT.as_raw()), ""));
}

/// Case T3: back at the end of the wait, and the container is killed first.
#[test]
fn a_signal_during_a_wait_was_heard_at_its_end() {
    for (signal, code) in ENDS {
        let args = ["--base", "60s", "--jitter", "none", "--", "sh", "-c", "echo once; exit 1"];
        let mut under_way = UnderWay::start(&mut tool(&args));
        assert!(under_way.message().ends_with("exited with 1; next in 60s"));
        under_way.send(signal);
        let end = under_way.end();
        assert_eq!((end.code, end.stdout.as_str()), (Some(code), "once\n"));
        assert!(end.stderr.contains("came; no further attempt"), "{}", end.stderr);
    }
}

#[test]
fn a_command_that_ignores_term_kept_the_tool_from_ending() {
    let script = "trap '' TERM; echo $$; while :; do sleep 0.01; done";
    let mut under_way = UnderWay::start(&mut tool(&["--grace", "100ms", "--", "sh", "-c", script]));
    let pid = under_way.line();
    under_way.send(Signal::TERM);
    assert_eq!(under_way.end().code, Some(143));
    assert!(!lives(&pid));
}

#[test]
fn a_hangup_ended_what_nohup_had_begun() {
    let script = r#"trap '' HUP; exec "$0" exec -- sh -c 'echo ready; read go; exit 5'"#;
    let mut shell = Command::new("sh");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_stagger")]).env_remove("STAGGER_ATTEMPT");
    shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut under_way = UnderWay::start(&mut shell);
    assert_eq!(under_way.line(), "ready");
    under_way.send(Signal::HUP);
    under_way.type_in("go\ngo\ngo\n");
    assert_eq!(under_way.end().code, Some(5));
}

#[test]
fn a_command_went_on_while_the_tool_was_stopped() {
    let script = "echo $$; read go; echo went on";
    // Often enough to meet the moment in which the second signal comes before the first one is handled.
    for _ in 0..20 {
        let mut command = tool(&["--", "sh", "-c", script]);
        let mut under_way = UnderWay::start(command.stdin(Stdio::piped()));
        assert!(lives(&under_way.line()));
        under_way.send(Signal::TSTP);
        under_way.send(Signal::CONT);
        under_way.type_in("go\n");
        let end = under_way.end();
        assert_eq!((end.code, end.stdout.as_str()), (Some(0), "went on\n"));
    }
}
