//! A dispatcher in memory for one test.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// Its admin key.
pub(crate) const KEY: &str = "let-me-in-for-a-test";

/// A running dispatcher, killed with this.
pub(crate) struct Serving {
    pub(crate) child: Child,
    pub(crate) url: String,
}

impl Serving {
    pub(crate) fn start() -> Self {
        Self::with(&["--memory", "--max-body", "16MiB"])
    }

    /// With these flags.
    pub(crate) fn with(flags: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_stagger"))
            .args(["serve", "--allow-private", "--listen", "127.0.0.1:0"])
            .args(flags)
            .args(["--admin-key", KEY])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary was built for this test");
        let lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let mut lines = lines.map(|line| line.expect("text"));
        let url = lines
            .find_map(|line| line.split_once("listening on ").map(|(_, url)| url.to_owned()))
            .expect("it says where it listens");
        // A full pipe must not stop it.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, url }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
