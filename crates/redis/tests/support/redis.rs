//! A Redis or Valkey of one test's own, which it may stop, pause and lose.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// The server that all tests share, if there is one.
#[expect(clippy::print_stderr, reason = "who runs the tests should know what was left out")]
pub(crate) fn shared_redis() -> Option<String> {
    let url = std::env::var("STAGGER_TEST_REDIS").ok();
    if url.is_none() {
        eprintln!("skipped: STAGGER_TEST_REDIS is not set; see scripts/redis");
    }
    url
}

/// A server that ends with the test.
#[derive(Debug)]
pub(crate) struct Redis {
    folder: PathBuf,
    options: Vec<String>,
}

impl Redis {
    /// A server with these options; `None` where tests do without.
    pub(crate) fn start(options: &[&str]) -> Option<Self> {
        let redis = Self::prepare(options)?;
        redis.run("start");
        Some(redis)
    }

    /// A file in its folder.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.join(name);
        std::fs::write(&path, text).expect("a folder of its own");
        path
    }

    /// The same server with further options, for the next start.
    pub(crate) fn with(mut self, options: &[&str]) -> Self {
        self.options.extend(options.iter().map(ToString::to_string));
        self
    }

    /// One that is not started yet.
    pub(crate) fn prepare(options: &[&str]) -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        shared_redis()?;
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("stagger-redis-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder of its own");
        Some(Self { folder, options: options.iter().map(ToString::to_string).collect() })
    }

    pub(crate) fn url(&self) -> String {
        format!("unix://{}/redis.sock", self.folder.display())
    }

    pub(crate) fn again(&self) {
        self.run("start");
    }

    /// Ends it: it has kept nothing.
    pub(crate) fn stop(&self) {
        self.run("stop");
    }

    /// Ends it as a machine ends that loses its power.
    pub(crate) fn kill(&self) {
        self.signal("-KILL");
    }

    /// It hears, and says nothing.
    pub(crate) fn pause(&self) {
        self.signal("-STOP");
    }

    pub(crate) fn resume(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let pid = std::fs::read_to_string(self.folder.join("redis.pid")).expect("it runs");
        let status = Command::new("kill").args([signal, pid.trim()]).status();
        assert!(status.expect("kill runs").success());
    }

    fn run(&self, what: &str) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/redis");
        let mut command = Command::new(script);
        command.arg(what).arg(&self.folder).stdout(Stdio::null());
        if what == "start" {
            command.args(&self.options);
        }
        assert!(command.status().expect("bash is there").success(), "{what}");
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.run("stop");
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
