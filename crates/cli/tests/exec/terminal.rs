//! On a terminal: reading, Ctrl-C and Ctrl-Z reach the command, and the terminal comes back.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// Far longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(15);

/// A pseudo-terminal with a shell at the head of its session.
struct Session {
    keys: File,
    screen: Receiver<Vec<u8>>,
    seen: String,
    shell: Child,
}

impl Session {
    /// A shell that runs `script`, in which `$0` is the tool.
    fn script(script: &str) -> Self {
        Self::of(&["sh", "-c", script, env!("CARGO_BIN_EXE_stagger")])
    }

    fn of(shell: &[&str]) -> Self {
        let keys = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("pseudo-terminals");
        grantpt(&keys).expect("ours");
        unlockpt(&keys).expect("ours");
        let name = ptsname(&keys, Vec::new()).expect("it has a name");
        let name = name.to_str().expect("names of terminals are ASCII");
        let tty = || File::options().read(true).write(true).open(name).expect("unlocked");
        let mut command = Command::new("setsid");
        command.arg("--ctty").args(shell).env_remove("STAGGER_ATTEMPT").env("PS1", "$ ");
        let shell = command.stdin(tty()).stdout(tty()).stderr(tty()).spawn();
        let (tell, screen) = mpsc::channel();
        let keys = File::from(keys);
        let mut reads = keys.try_clone().expect("a second handle");
        thread::spawn(move || {
            let mut piece = [0; 4096];
            // At the end of the session Linux answers with an error.
            while let Ok(read @ 1..) = reads.read(&mut piece) {
                if tell.send(piece[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { keys, screen, seen: String::new(), shell: shell.expect("util-linux is there") }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("the session is open");
    }

    /// Reads on until `text` stands on the screen, and forgets everything up to it.
    #[track_caller]
    fn sees(&mut self, text: &str) {
        while !self.seen.contains(text) {
            let Ok(piece) = self.screen.recv_timeout(PATIENCE) else {
                panic!("no {text:?} in {:?}", self.seen);
            };
            self.seen.push_str(&String::from_utf8_lossy(&piece));
        }
        let at = self.seen.find(text).expect("just seen") + text.len();
        self.seen.drain(..at);
    }

    /// The rest of the screen, when the session has ended by itself.
    #[track_caller]
    fn rest(mut self) -> String {
        loop {
            match self.screen.recv_timeout(PATIENCE) {
                Ok(piece) => self.seen.push_str(&String::from_utf8_lossy(&piece)),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => panic!("it goes on: {:?}", self.seen),
            }
        }
        self.shell.wait().expect("it is ours");
        std::mem::take(&mut self.seen)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

#[test]
fn a_command_that_reads_from_the_terminal_was_stopped() {
    let script = r#""$0" exec -- sh -c 'read x; echo got $x'; read y; echo after $y"#;
    let mut session = Session::script(script);
    session.press("hello\n");
    session.sees("got hello");
    session.press("world\n");
    session.sees("after world");
    session.rest();
}

#[test]
fn a_command_in_a_pipeline_that_reads_from_the_terminal_was_stopped() {
    let mut session = Session::script(r#""$0" exec -- sh -c 'read x; echo got $x' | cat; read y"#);
    session.press("hello\n");
    session.sees("got hello");
    session.press("\n");
    session.rest();
}

#[test]
fn ctrl_c_on_a_terminal_did_not_reach_the_command() {
    let script =
        r#"trap : INT; "$0" exec --base 1ms -- sh -c 'echo begun; exec sleep 60'; echo code $?"#;
    let mut session = Session::script(script);
    session.sees("begun");
    session.press("\x03");
    session.sees("code 130");
    assert!(!session.rest().contains("begun"));
}

#[test]
fn ctrl_c_ended_one_command_of_a_loop_and_the_loop_went_on() {
    let script =
        r#"for i in 1 2 3; do "$0" exec -- sh -c 'echo begun; exec sleep 60'; done; echo on"#;
    let mut session = Session::script(script);
    session.sees("begun");
    session.press("\x03");
    let rest = session.rest();
    assert!(!rest.contains("begun") && !rest.contains("on\r"), "{rest}");
}

#[test]
fn ctrl_c_during_a_wait_on_a_terminal_was_not_heard() {
    let script = r#"trap : INT; "$0" exec --base 60s --jitter none -- false; echo code $?"#;
    let mut session = Session::script(script);
    session.sees("next in 60s");
    session.press("\x03");
    session.sees("code 130");
}

#[test]
fn ctrl_z_stopped_the_command_and_nobody_got_the_prompt() {
    let mut session = Session::of(&["bash", "--norc", "--noprofile", "-i"]);
    session.sees("$ ");
    let tool = env!("CARGO_BIN_EXE_stagger");
    // A key between the command's start and its first read may go to the tool: whoever reads has the terminal.
    session
        .press(&format!("{tool} exec -- sh -c 'read x; echo be''gun-$x; read x; echo got-$x'\n"));
    session.press("now\n");
    session.sees("begun-now");
    session.press("\x1a");
    session.sees("Stopped");
    session.sees("$ ");
    session.press("fg\n");
    session.sees("exec --");
    session.press("hello\n");
    session.sees("got-hello");
    session.sees("$ ");
    session.press("exit\n");
    session.rest();
}

#[test]
fn a_command_that_was_cut_short_left_the_terminal_without_echo() {
    let script = r#"
        "$0" exec --attempts 1 --attempt-timeout 200ms -- sh -c 'stty -echo; echo off; exec sleep 60'
        stty -a"#;
    let mut session = Session::script(script);
    session.sees("off");
    assert!(session.rest().contains(" echo "));
}

#[test]
fn ctrl_c_did_not_reach_a_hook_or_a_check_and_the_script_went_on() {
    let hook =
        r#""$0" exec -q --base 1ms --before-retry 'echo begun; exec sleep 60' -- sh -c 'exit 3'"#;
    let check = r#""$0" exec -q --until 'echo begun; exec sleep 60' -- true"#;
    for command in [hook, check] {
        let mut session = Session::script(&format!("stty tostop; {command}; echo went on"));
        session.sees("begun");
        session.press("\x03");
        assert!(!session.rest().contains("went on"), "{command}");
    }
}
