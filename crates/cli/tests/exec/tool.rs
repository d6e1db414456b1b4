//! The tool as a process.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process};

/// Far longer than anything here takes, and shorter than every `sleep` of a child.
pub(crate) const PATIENCE: Duration = Duration::from_secs(15);

/// `stagger exec` with these arguments, outside of any other one, with nothing to read.
pub(crate) fn tool(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stagger"));
    command.arg("exec").args(args).stdin(Stdio::null()).stdout(Stdio::piped());
    command.stderr(Stdio::piped()).env_remove("STAGGER_ATTEMPT").env_remove("STAGGER_DEADLINE_MS");
    // A probe of a server on this machine must not go through a proxy.
    command.env("NO_PROXY", "127.0.0.1");
    command
}

/// The end of the tool, and its output.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// As shells have it: 128 + N for a process that died of signal N.
    pub(crate) code: Option<i32>,
    /// The signal that it died of.
    pub(crate) signal: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs it to its end.
#[track_caller]
pub(crate) fn run(args: &[&str]) -> End {
    end(tool(args).spawn().expect("the binary was built for this test"))
}

/// Waits for its end, which must come by itself.
#[track_caller]
pub(crate) fn end(child: Child) -> End {
    let pid = pid(&child);
    let (tell, told) = mpsc::channel();
    thread::spawn(move || tell.send(child.wait_with_output()));
    let Ok(output) = told.recv_timeout(PATIENCE) else {
        let _ = kill_process(pid, Signal::KILL);
        panic!("it did not end by itself");
    };
    of(output.expect("a child can be waited for"))
}

pub(crate) fn of(output: Output) -> End {
    let text = |bytes| String::from_utf8(bytes).expect("the output is UTF-8");
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    let signal = output.status.signal();
    let code = output.status.code().or(signal.map(|signal| 128 + signal));
    End { code, signal, stdout, stderr }
}

pub(crate) fn pid(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).expect("process ids are small")).expect("not 0")
}

/// Whether a process of this id is there.
pub(crate) fn lives(pid: &str) -> bool {
    let pid = pid.trim().parse().ok().and_then(Pid::from_raw).expect("a process id");
    test_kill_process(pid).is_ok()
}

/// The tool under way, whose lines are read one by one.
pub(crate) struct UnderWay {
    child: Child,
    stdout: Option<BufReader<std::process::ChildStdout>>,
    stderr: Option<BufReader<std::process::ChildStderr>>,
}

impl UnderWay {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.spawn().expect("the binary was built for this test");
        let stdout = child.stdout.take().map(BufReader::new);
        let stderr = child.stderr.take().map(BufReader::new);
        Self { child, stdout, stderr }
    }

    /// The next line of standard output.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        let stdout = self.stdout.as_mut().expect("not closed yet");
        stdout.read_line(&mut line).expect("the output is UTF-8");
        line.trim_end().to_owned()
    }

    /// The next line of standard error.
    pub(crate) fn message(&mut self) -> String {
        let mut line = String::new();
        let stderr = self.stderr.as_mut().expect("taken once");
        stderr.read_line(&mut line).expect("the output is UTF-8");
        line.trim_end().to_owned()
    }

    /// Goes away as the reader of standard output.
    pub(crate) fn close(&mut self) {
        self.stdout = None;
    }

    pub(crate) fn send(&self, signal: Signal) {
        kill_process(pid(&self.child), signal).expect("it is under way");
    }

    /// Sends it to the process group that the tool is at the head of.
    pub(crate) fn send_to_group(&self, signal: Signal) {
        kill_process_group(pid(&self.child), signal).expect("it is under way");
    }

    /// Gives the command something to read.
    pub(crate) fn type_in(&mut self, text: &str) {
        self.stdin().write_all(text.as_bytes()).expect("the command reads");
    }

    fn stdin(&mut self) -> &mut ChildStdin {
        self.child.stdin.as_mut().expect("standard input is piped")
    }

    /// The end, with what was not read yet.
    #[track_caller]
    pub(crate) fn end(self) -> End {
        let Self { child, stdout, stderr } = self;
        let rest = |stream: Option<Box<dyn Read + Send>>| {
            thread::spawn(move || {
                let mut text = String::new();
                if let Some(mut stream) = stream {
                    stream.read_to_string(&mut text).expect("the output is UTF-8");
                }
                text
            })
        };
        let stdout = rest(stdout.map(|stream| Box::new(stream) as Box<dyn Read + Send>));
        let stderr = rest(stderr.map(|stream| Box::new(stream) as Box<dyn Read + Send>));
        let End { code, signal, .. } = end(child);
        let text = |thread: thread::JoinHandle<String>| thread.join().expect("only reads");
        End { code, signal, stdout: text(stdout), stderr: text(stderr) }
    }
}
