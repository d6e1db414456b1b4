//! Output that is kept back, and readers that go away.

use std::process::{Command, Stdio};

use stagger_testkit::server::RefusingPort;

use super::tool::{End, UnderWay, end, run, tool};

#[test]
fn output_of_failed_attempts_got_out() {
    let script = "echo out $STAGGER_ATTEMPT; echo err $STAGGER_ATTEMPT >&2; exit 1";
    for (mode, stdout) in [("buffer", ""), ("last", "out 3\n")] {
        let end = run(&["--output", mode, "-q", "--base", "1ms", "--", "sh", "-c", script]);
        assert_eq!((end.stdout.as_str(), end.stderr.as_str()), (stdout, "err 3\n"), "{mode}");
    }
}

#[test]
fn output_beyond_the_memory_bound_was_lost() {
    let script = "[ $STAGGER_ATTEMPT = 2 ] && seq 1 400000";
    let end = run(&["--output", "buffer", "--base", "1ms", "--", "sh", "-c", script]);
    assert_eq!(end.code, Some(0));
    assert_eq!(end.stdout.lines().count(), 400_000);
    assert!(end.stdout.ends_with("399999\n400000\n"));
}

#[test]
fn output_that_had_no_room_came_out_in_part_and_went_on_for_ever() {
    let mut command = tool(&["--output", "buffer", "--", "yes"]);
    let end = end(command.env("TMPDIR", "/nonesuch").spawn().expect("built for this test"));
    assert_eq!((end.code, end.stdout.as_str()), (Some(125), ""));
    assert!(end.stderr.contains("lost its output: /nonesuch"), "{}", end.stderr);
}

#[test]
fn output_before_a_timeout_was_lost() {
    let limits = ["--output", "last", "--attempt-timeout", "200ms", "--attempts", "1"];
    let end = run(&[&limits[..], &["--", "sh", "-c", "echo so far; exec sleep 60"]].concat());
    assert_eq!((end.code, end.stdout.as_str()), (Some(124), "so far\n"));
}

/// The end of a call whose reader goes away before its command goes on.
fn unread(flags: &[&str], script: &str) -> End {
    let script = format!("trap '' PIPE; read go; {script}");
    let args = [&["-v", "--base", "1ms"], flags, &["--", "sh", "-c", &script]].concat();
    let mut under_way = UnderWay::start(tool(&args).stdin(Stdio::piped()));
    assert!(under_way.message().contains("attempt 1 of"));
    under_way.close();
    under_way.type_in("\n");
    under_way.end()
}

const MODES: [&str; 3] = ["stream", "buffer", "last"];

#[test]
fn a_consumer_went_away_and_the_command_was_tried_again() {
    for mode in MODES {
        for script in ["echo for nobody; exit 1", "exit 4"] {
            let end = unread(&["--output", mode], script);
            assert_eq!(end.code, Some(141), "{mode}, {script}: {}", end.stderr);
            assert!(
                end.stderr.contains("the reader of standard output has gone"),
                "{}",
                end.stderr
            );
            assert!(!end.stderr.contains("attempt 2"), "{mode}, {script}: {}", end.stderr);
        }
    }
}

#[test]
fn a_failure_that_is_final_anyway_was_hidden_behind_a_reader_that_went_away() {
    for mode in MODES {
        for flags in [&["--attempts", "1"][..], &["--no-retry-on-exit"]] {
            let end = unread(&[&["--output", mode], flags].concat(), "echo for nobody; exit 4");
            assert_eq!(end.code, Some(4), "{mode}, {flags:?}: {}", end.stderr);
        }
    }
}

#[test]
fn a_success_that_nobody_could_read_was_one_in_one_mode_and_none_in_another() {
    for mode in MODES {
        let end = unread(&["--output", mode], "trap - PIPE; echo for nobody");
        assert_eq!(end.code, Some(141), "{mode}: {}", end.stderr);
        let silent = unread(&["--output", mode], "exit 0");
        assert_eq!(silent.code, Some(0), "{mode}: {}", silent.stderr);
    }
}

/// In stream mode the command itself writes to the reader, so stagger cannot know what was lost.
#[test]
fn a_success_that_ignores_the_broken_pipe_is_one_where_the_command_writes_itself() {
    for (mode, code) in [("stream", 0), ("buffer", 141), ("last", 141)] {
        let end = unread(&["--output", mode], "echo for nobody; exit 0");
        assert_eq!(end.code, Some(code), "{mode}: {}", end.stderr);
    }
}

#[test]
fn a_reader_that_took_all_it_needed_makes_no_failure_of_a_success() {
    let mut under_way =
        UnderWay::start(tool(&["--", "sh", "-c", "echo all; read go"]).stdin(Stdio::piped()));
    assert_eq!(under_way.line(), "all");
    under_way.close();
    under_way.type_in("\n");
    assert_eq!(under_way.end().code, Some(0));
}

/// As `stagger exec --help` and `docs/exec.md` show it.
const PIPELINE: &str =
    "--output buffer -- bash -o pipefail -c 'curl -fsS https://example.com/ | jq .version'";

#[test]
fn the_pipeline_of_the_help_succeeded_when_the_server_was_down() {
    let docs = include_str!("../../../../docs/exec.md");
    let help = Command::new(env!("CARGO_BIN_EXE_stagger")).args(["exec", "--help"]).output();
    let help = String::from_utf8(help.expect("built for this test").stdout).expect("UTF-8");
    assert!(docs.contains(PIPELINE) && help.contains(PIPELINE), "{help}");
    let down = RefusingPort::hold().expect("a port that refuses");
    let pipeline = PIPELINE.replace("https://example.com/", &down.url("/"));
    // An empty input is no failure to jq, which this stands in for.
    let script = format!("jq() {{ cat; }}; export -f jq; \"$0\" exec --base 1ms {pipeline}");
    let mut shell = Command::new("bash");
    shell.args(["-c", &script, env!("CARGO_BIN_EXE_stagger")]).env_remove("STAGGER_ATTEMPT");
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let end = end(shell.spawn().expect("there is bash"));
    assert_eq!((end.code, end.stdout.as_str()), (Some(7), ""), "{}", end.stderr);
    assert!(end.stderr.contains("attempt 3 of 3 exited with 7"), "{}", end.stderr);
}
