//! `stagger serve` and `stagger store` on a PostgreSQL of the test's own. Without `STAGGER_TEST_POSTGRES` they are
//! skipped.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/postgres");
const KEY: &str = "let-me-in-for-a-test";
/// The most times that a test asks the same again: for many seconds.
const TRIES: usize = 100_000;

/// A running server, ended and deleted with this.
struct Server {
    folder: PathBuf,
    url: String,
}

impl Server {
    #[expect(
        clippy::print_stderr,
        reason = "whoever reads the output of tests hears what was left out"
    )]
    fn start(name: &str) -> Option<Self> {
        if std::env::var_os("STAGGER_TEST_POSTGRES").is_none() {
            eprintln!("skipped: STAGGER_TEST_POSTGRES names no database");
            return None;
        }
        let folder = std::env::temp_dir().join(format!("stagger-{name}-{}", std::process::id()));
        fs::remove_dir_all(&folder).ok();
        fs::create_dir_all(&folder).expect("a temporary folder");
        let mut server = Self { folder, url: String::new() };
        server.url = server.script("start").trim().to_owned();
        Some(server)
    }

    fn script(&self, act: &str) -> String {
        let output = Command::new(SCRIPT).arg(act).arg(&self.folder).output().expect("the script");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        Command::new(SCRIPT).arg("stop").arg(&self.folder).output().ok();
        fs::remove_dir_all(&self.folder).ok();
    }
}

/// A running dispatcher, killed with this.
struct Serving {
    child: Child,
    address: String,
}

impl Serving {
    fn start(store: &str, data: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_stagger"))
            .args(["serve", "--listen", "127.0.0.1:0", "--admin-key", KEY, "--store", store])
            .arg("--data")
            .arg(data)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary was built for this test");
        let lines = BufReader::new(child.stderr.take().expect("piped")).lines();
        let mut lines = lines.map(|line| line.expect("text"));
        let address = lines
            .find_map(|line| line.split_once("listening on http://").map(|(_, to)| to.to_owned()))
            .expect("it says where it listens");
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    /// The reply to a request, head and body.
    /// Asks until it says that it is not ready: one answer is for all who ask within a second.
    fn until_not_ready(&self) {
        let mut answers = (0..TRIES).map(|_| self.ask("GET", "/readyz", ""));
        assert!(answers.any(|it| it.starts_with("HTTP/1.1 503 ")), "it is still ready");
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer {KEY}\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .expect("sent");
        let mut reply = String::new();
        stream.read_to_string(&mut reply).expect("a reply");
        reply
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn stagger(args: &[&str]) -> Output {
    let command = Command::new(env!("CARGO_BIN_EXE_stagger")).args(args).output();
    command.expect("the binary was built for this test")
}

fn id_in(reply: &str) -> String {
    let (_, rest) = reply.split_once(r#""id":""#).unwrap_or_else(|| panic!("an id in {reply}"));
    rest.split('"').next().expect("a part").to_owned()
}

#[test]
fn a_database_that_goes_away_is_a_503_until_it_is_back_and_its_store_moves_to_a_folder() {
    let Some(server) = Server::start("serve-pg") else { return };
    let data = server.folder.join("data-folder");
    let serving = Serving::start(&server.url, &data);
    let application = id_in(&serving.ask("POST", "/v1/applications", r#"{"name":"shop"}"#));
    let messages = format!("/v1/applications/{application}/messages");
    let message = r#"{"event_type":"invoice.paid","payload":{"amount":10}}"#;
    let reply = serving.ask("POST", &messages, message);
    assert!(reply.starts_with("HTTP/1.1 202 "), "{reply}");
    assert!(serving.ask("GET", "/readyz", "").starts_with("HTTP/1.1 200 "));

    server.script("stop");
    let reply = serving.ask("POST", &messages, message);
    assert!(reply.starts_with("HTTP/1.1 503 "), "{reply}");
    assert!(reply.to_lowercase().contains("\r\nretry-after: "), "{reply}");
    serving.until_not_ready();
    assert!(serving.ask("GET", "/healthz", "").starts_with("HTTP/1.1 200 "));
    server.script("start");
    let reply = serving.ask("POST", &messages, message);
    assert!(reply.starts_with("HTTP/1.1 202 "), "{reply}");
    drop(serving);

    let checked = stagger(&["store", "check", "--store", &server.url]);
    let page = String::from_utf8_lossy(&checked.stdout);
    assert!(page.starts_with("sound, version 8\n2 messages\n"), "{page}");
    let copy = server.folder.join("copy");
    let copy = copy.to_str().expect("UTF-8");
    let copied = stagger(&["store", "copy", "--from", &server.url, "--to", copy]);
    assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
    let page = String::from_utf8_lossy(&copied.stdout);
    assert!(page.contains("\n2 messages\n") && page.contains("\nsha256 "), "{page}");
    let again = stagger(&["store", "copy", "--from", &server.url, "--to", copy]);
    assert_eq!(again.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&again.stderr).contains("is not empty"));
    let checked = stagger(&["store", "check", "--data", copy]);
    assert!(String::from_utf8_lossy(&checked.stdout).starts_with("sound, version 4\n2 messages\n"));
}

#[test]
fn a_store_that_is_no_store_is_refused_without_its_password() {
    let wrong = "postgres://me:hunter2@db/shop?sslmode=prefer";
    let output = stagger(&["serve", "--check", "--store", wrong]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        message.starts_with("error: --store: store = ..: must be embedded, memory or"),
        "{message}"
    );
    let output = stagger(&["store", "backup", "x.db", "--store", "postgres://me:hunter2@db/shop"]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(message.contains("pg_dump") && !message.contains("hunter2"), "{message}");
    let nobody = "postgres://me:hunter2@127.0.0.1:1/shop";
    for act in [["store", "check"], ["store", "migrate"]] {
        let output = stagger(&[act[0], act[1], "--store", nobody]);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains("PostgreSQL") && !message.contains("hunter2"), "{message}");
    }
}
