//! The examples of the help and the documentation, as they are shown.

use std::process::{Command, Stdio};

use stagger_testkit::server::RefusingPort;

use super::tool::end;

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
