//! Differences for a command between running under the tool and without it: none.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;

use super::scratch::Scratch;
use super::tool::{UnderWay, lives, run, tool};

#[test]
fn a_signal_that_is_the_commands_business_killed_the_tool_and_left_the_command() {
    for (signal, name) in [(Signal::USR1, "USR1"), (Signal::USR2, "USR2")] {
        let script =
            format!("trap 'echo heard; exit 0' {name}; echo $$; while :; do sleep 0.01; done");
        let mut under_way = UnderWay::start(&mut tool(&["--", "sh", "-c", &script]));
        let pid = under_way.line();
        under_way.send(signal);
        let end = under_way.end();
        assert_eq!((end.code, end.stdout.as_str()), (Some(0), "heard\n"), "{}", end.stderr);
        assert!(!lives(&pid));
    }
    let mut under_way = UnderWay::start(&mut tool(&["--", "sh", "-c", "echo $$; exec sleep 60"]));
    let pid = under_way.line();
    under_way.send(Signal::ALARM);
    assert_eq!(under_way.end().signal, Some(Signal::ALARM.as_raw()));
    assert!(!lives(&pid));
}

#[test]
fn a_script_without_a_first_line_for_the_system_was_not_run() {
    let scratch = Scratch::new("no-shebang");
    let script = scratch.write("script", "echo \"$0 $1\"\n");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("ours");
    let end = run(&["--", &script, "a b"]);
    assert_eq!((end.code, end.stdout), (Some(0), format!("{script} a b\n")), "{}", end.stderr);
    let path = format!("{}:/usr/bin:/bin", scratch.folder().display());
    let found = tool(&["--", "script", "x"]).env("PATH", path).output().expect("it runs");
    assert_eq!(String::from_utf8_lossy(&found.stdout), format!("{script} x\n"));
}

#[test]
fn an_empty_budget_file_was_refused_as_damaged() {
    let scratch = Scratch::new("empty-budget");
    let policy = scratch.write(
        "p.toml",
        "budget.interval = { retries = 1, interval = '1h' }\nbackoff.base = '1ms'\n",
    );
    let budget = scratch.write("budget", "");
    let args = ["--policy", &policy, "--budget-file", &budget, "--", "sh", "-c", "echo x; exit 1"];
    assert_eq!(run(&args).stdout, "x\nx\n", "the one retry");
    assert_eq!(run(&args).stdout, "x\n", "which is spent");
}

#[test]
fn a_deadline_was_exceeded_before_it_had_come() {
    let end = run(&["--deadline", "2s", "--base", "30s", "--jitter", "none", "--", "false"]);
    assert!(
        end.stderr.contains("deadline exceeded: the next wait would pass it"),
        "{}",
        end.stderr
    );
}

#[test]
fn a_refusal_named_a_flag_or_a_preset_that_there_is_not() {
    let end = run(&["--jitter", "decorrelated", "--factor", "3", "--", "true"]);
    assert!(end.code == Some(2) && !end.stderr.contains("--envelope"), "{}", end.stderr);
    let end = run(&["--preset", "aws", "--", "true"]);
    assert!(end.stderr.contains("aws-standard") && !end.stderr.contains("aws_"), "{}", end.stderr);
    assert_eq!(run(&["--stdin", "buffer:4M", "--", "true"]).code, Some(0));
}

#[test]
fn a_file_with_a_number_sign_in_its_name_was_not_found() {
    let scratch = Scratch::new("number-sign");
    let policy = scratch.write("p#1.toml", "limits.max_attempts = 2\nbackoff.base = '1ms'\n");
    let end = run(&["--policy", &policy, "--", "sh", "-c", "echo x; exit 1"]);
    assert_eq!(end.stdout, "x\nx\n", "{}", end.stderr);
}
