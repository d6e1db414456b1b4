//! `stagger choose` on a terminal: a pseudo-terminal, real keys, no sleeps.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use stagger::{Policy, Span};

/// The longest time for a question to appear.
const PATIENCE: Timespec = Timespec { tv_sec: 60, tv_nsec: 0 };

/// The command with its questions on a pseudo-terminal; its output is piped.
struct Session {
    terminal: File,
    child: Child,
    shown: String,
}

impl Session {
    fn start(flags: &[&str]) -> Self {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&terminal).expect("granted");
        unlockpt(&terminal).expect("unlocked");
        let name = ptsname(&terminal, Vec::new()).expect("named");
        let name = OsString::from_vec(name.into_bytes());
        let side = OpenOptions::new().read(true).write(true).open(name).expect("its other side");
        // A session of its own, so that keys such as Ctrl-C reach the command and nobody else.
        let child = Command::new("setsid")
            .args(["--ctty", "--wait", env!("CARGO_BIN_EXE_stagger"), "choose"])
            .args(flags)
            .stdin(side.try_clone().expect("a second handle"))
            .stderr(side)
            .stdout(Stdio::piped())
            .spawn()
            .expect("setsid is part of every Linux");
        Self { terminal: File::from(terminal), child, shown: String::new() }
    }

    /// Reads until these words appear.
    #[track_caller]
    fn expect(&mut self, words: &str) {
        while !self.shown.contains(words) {
            let mut fds = [PollFd::new(&self.terminal, PollFlags::IN)];
            let ready = poll(&mut fds, Some(&PATIENCE)).expect("polled");
            assert!(ready > 0, "no {words:?} in {:?}", self.shown);
            let mut bytes = [0; 1024];
            let read = self.terminal.read(&mut bytes);
            let read = read.unwrap_or_else(|e| panic!("{e}: no {words:?} in {:?}", self.shown));
            self.shown.push_str(&String::from_utf8_lossy(&bytes[..read]));
        }
        let end = self.shown.find(words).expect("it appeared") + words.len();
        self.shown.drain(..end);
    }

    fn press(&mut self, keys: &str) {
        self.terminal.write_all(keys.as_bytes()).expect("typed");
    }

    fn end(self) -> (std::process::ExitStatus, String) {
        let output = self.child.wait_with_output().expect("it ends");
        (output.status, String::from_utf8(output.stdout).expect("UTF-8"))
    }
}

#[test]
fn questions_are_asked_and_the_answers_make_the_policy() {
    let mut session = Session::start(&["--format", "toml"]);
    session.expect("Do failures of these calls heal by themselves?");
    session.expect("[yes] ");
    session.press("\n");
    session.expect("May a call be sent twice");
    session.expect("[no] ");
    session.press("yes\n");
    for (question, usual, answer) in [
        ("How many processes", "[100] ", "5000\n"),
        ("How many calls a second", "[unknown] ", "\n"),
        ("left alone", "[none] ", "\n"),
        ("background work", "[no] ", "no\n"),
        ("How long may a call take", "[none] ", "2s\n"),
        ("99 of 100 healthy", "[unknown] ", "80ms\n"),
        ("limit its callers", "[no] ", "\n"),
        ("How many services", "[1] ", "\n"),
    ] {
        session.expect(question);
        session.expect(usual);
        session.press(answer);
    }
    let (status, page) = session.end();
    assert_eq!(status.code(), Some(0));
    let policy: Policy = toml::from_str(&page).expect("a policy");
    assert_eq!(policy.limits().max_attempts(), Some(3));
    assert_eq!(policy.limits().deadline(), Some(Span::from_secs(2)));
    assert!(policy.breaker().is_some());
    assert!(!page.contains("Not said"), "{page}");
}

#[test]
fn a_wrong_answer_is_asked_again_with_its_bound() {
    let mut session = Session::start(&["--idempotent=no", "--slo", "1s", "--background=no"]);
    session.expect("[yes] ");
    session.press("perhaps\n");
    session.expect("retryable = perhaps: must be yes or no");
    session.expect("[yes] ");
    session.press("y\n");
    session.expect("How many processes");
    session.press("0\n");
    session.expect("callers = 0: must be a whole number from 1 to 1000000000");
    session.expect("How many processes");
    session.press("7\n");
    session.expect("99 of 100 healthy");
    session.press("0s\n");
    session.expect("p99 = 0s: must be a span from 1us to 3600s, or unknown");
    session.expect("[unknown] ");
    session.press("\n");
    let (status, page) = session.end();
    assert_eq!(status.code(), Some(0));
    assert!(page.contains("max_attempts = 1"), "{page}");
}

#[test]
fn what_does_not_heal_is_asked_nothing_more() {
    let mut session = Session::start(&[]);
    session.expect("[yes] ");
    session.press("no\n");
    session.expect("does not heal");
    let (status, page) = session.end();
    assert_eq!((status.code(), page.as_str()), (Some(1), ""));
}

#[test]
fn ctrl_d_ends_without_a_policy() {
    let mut session = Session::start(&[]);
    session.expect("[yes] ");
    session.press("\n");
    session.expect("[no] ");
    session.press("\u{4}");
    session.expect("there is no policy");
    let (status, page) = session.end();
    assert_eq!((status.code(), page.as_str()), (Some(2), ""));
}

#[test]
fn ctrl_c_ends_as_in_every_program() {
    let mut session = Session::start(&[]);
    session.expect("[yes] ");
    session.press("\u{3}");
    let (status, page) = session.end();
    // SIGINT, which shells show as 130.
    assert_eq!((status.signal(), page.as_str()), (Some(2), ""));
}

#[test]
fn nothing_is_asked_of_those_who_said_all_or_want_the_defaults() {
    let session = Session::start(&["--defaults", "--format", "toml"]);
    let (status, page) = session.end();
    assert_eq!(status.code(), Some(0));
    assert!(page.contains("Not said, so taken as usual"));
}
