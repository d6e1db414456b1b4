//! The program as a process: what it checks, prints and answers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};
use std::thread;

pub(crate) fn stagger(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stagger"));
    command.args(args).stdin(Stdio::null()).output().expect("the binary was built for this test")
}

/// Asserts that the subcommand has each of these flags, and that its value follows where the help has one.
#[track_caller]
pub(crate) fn has_flags(arguments: &[&str]) {
    let (subcommand, flags) = arguments.split_first().expect("a subcommand");
    let help = stagger(&[subcommand, "--help"]).stdout;
    let help = String::from_utf8(help).expect("UTF-8");
    let mut flags = flags.iter();
    while let Some(flag) = flags.next() {
        let line = help.lines().map(str::trim_start).find(|line| {
            line.strip_prefix(flag).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        });
        let line = line.unwrap_or_else(|| panic!("stagger {subcommand} has no {flag}"));
        if line.contains('<') {
            let value = flags.next().unwrap_or_else(|| panic!("{flag} has no value"));
            assert!(!value.starts_with("--"), "{flag} {value}");
        }
    }
}

/// A process that listens, and ends with the test.
pub(crate) struct ListeningProcess {
    child: Child,
    /// The address behind each `on http://` that it has printed.
    addresses: Vec<String>,
}

impl ListeningProcess {
    /// Starts it and waits until it has printed so many addresses.
    pub(crate) fn start(args: &[&str], addresses: usize) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_stagger"))
            .args(args)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary was built for this test");
        let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let shown = lines.by_ref().map_while(Result::ok);
        let shown = shown.filter_map(|line| Some(line.split_once("on http://")?.1.to_owned()));
        let found: Vec<String> = shown.take(addresses).collect();
        // A full pipe must not stop it.
        thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        assert_eq!(found.len(), addresses, "it listens");
        Self { child, addresses: found }
    }

    /// The reply to a GET, head and body, of the last address that it printed.
    pub(crate) fn get(&self, path: &str) -> String {
        get(self.addresses.last().expect("at least one"), path)
    }

    /// The same of the first address that it printed.
    pub(crate) fn get_first(&self, path: &str) -> String {
        get(self.addresses.first().expect("at least one"), path)
    }

    /// Asserts that each path is answered with 200, and that a path which is not there is not.
    #[track_caller]
    pub(crate) fn answers(&self, paths: &[&str]) {
        assert!(!paths.is_empty(), "nothing is probed");
        for path in paths {
            let reply = self.get(path);
            assert!(reply.starts_with("HTTP/1.1 200"), "{path}: {reply}");
        }
        assert!(self.get("/no-such-path").starts_with("HTTP/1.1 404"));
    }
}

fn get(address: &str, path: &str) -> String {
    let mut socket = TcpStream::connect(address).expect("it listens");
    let head = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    socket.write_all(head.as_bytes()).expect("it reads");
    let mut reply = String::new();
    socket.read_to_string(&mut reply).expect("it answers");
    reply
}

impl Drop for ListeningProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
