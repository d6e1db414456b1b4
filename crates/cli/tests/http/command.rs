//! The process under test.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A call of `stagger http`, out of reach of this machine's proxies.
pub(crate) fn http(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stagger"));
    command.arg("http").args(args).stdin(Stdio::null());
    for proxy in
        ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
    {
        command.env_remove(proxy);
    }
    command
}

/// The end of the command, and its output.
#[derive(Debug)]
pub(crate) struct HttpRun {
    pub(crate) code: Option<i32>,
    pub(crate) out: Vec<u8>,
    pub(crate) told: String,
}

impl HttpRun {
    pub(crate) fn of(args: &[&str]) -> Self {
        Self::from(http(args).output().expect("the binary was built for this test"))
    }

    /// The same with something on standard input.
    pub(crate) fn fed(args: &[&str], input: &[u8]) -> Self {
        let mut command = http(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary was built for this test");
        let mut stdin = child.stdin.take().expect("it is piped");
        stdin.write_all(input).expect("it reads its input");
        drop(stdin);
        Self::from(child.wait_with_output().expect("it ends"))
    }

    fn from(output: Output) -> Self {
        let told = String::from_utf8(output.stderr).expect("messages are UTF-8");
        Self { code: output.status.code(), out: output.stdout, told }
    }

    /// The lines that were told, without their figures of time.
    pub(crate) fn lines(&self) -> Vec<&str> {
        self.told.lines().collect()
    }
}

/// A folder of this test's own, empty.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("stagger-http-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a temporary folder");
    folder
}
