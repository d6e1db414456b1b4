//! Ctrl-C ends it at once, in an attempt as well as in a delay.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use stagger_testkit::server::{BlockingServer, Reaction, Script};

use crate::command::{folder, http};

#[test]
fn ctrl_c_ends_a_delay() {
    let server =
        BlockingServer::start(Script::always(Reaction::status(503).header("retry-after", "50")));
    let mut command = http(&[&server.url("/")]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary was built for this test");
    let mut told = BufReader::new(child.stderr.take().expect("it is piped"));
    let mut line = String::new();
    told.read_line(&mut line).expect("it tells the attempt");
    assert!(line.contains("hint 50s (retry-after)"), "{line}");
    let id = i32::try_from(child.id()).expect("a process id");
    kill_process(Pid::from_raw(id).expect("not zero"), Signal::INT).expect("it runs");
    let status = child.wait().expect("it ends");
    assert_eq!((status.code(), server.seen().len()), (Some(130), 1));
}

#[test]
fn ctrl_c_ends_a_body_that_does_not_end_and_leaves_no_file() {
    let folder = folder("interrupted");
    let file = folder.join("page");
    let server = BlockingServer::start(Script::always(Reaction::ok("some of it").stall(4)));
    let mut command = http(&[&server.url("/"), "-o", &file.display().to_string()]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary was built for this test");
    let mut told = BufReader::new(child.stderr.take().expect("it is piped"));
    let mut line = String::new();
    while !line.starts_with("attempt 1") {
        line.clear();
        assert!(told.read_line(&mut line).expect("it tells the attempt") > 0);
    }
    let id = i32::try_from(child.id()).expect("a process id");
    kill_process(Pid::from_raw(id).expect("not zero"), Signal::TERM).expect("it runs");
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(143));
    assert_eq!(fs::read_dir(&folder).expect("there").count(), 0, "nothing is left behind");
    fs::remove_dir_all(folder).expect("ours");
}
