//! A real NATS server with JetStream on a free port of 127.0.0.1, and a client of its own that knows the text protocol.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

/// A running server. It is killed, and its folder deleted, when this is dropped.
pub(crate) struct NatsServer {
    child: Child,
    folder: PathBuf,
    pub(crate) port: u16,
}

impl NatsServer {
    /// A server with JetStream and these further lines of configuration; `None` where there is no `nats-server`.
    pub(crate) async fn start(config: &str) -> Option<Self> {
        static STARTED: AtomicUsize = AtomicUsize::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let name = format!("stagger-nats-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder for the server");
        Self::start_in(folder, -1, config).await
    }

    async fn start_in(folder: PathBuf, port: i32, config: &str) -> Option<Self> {
        let file = folder.join("nats.conf");
        let text = format!(
            "listen: \"127.0.0.1:{port}\"\njetstream {{ store_dir: \"{}\" }}\n{config}\n",
            folder.display()
        );
        std::fs::write(&file, text).expect("the configuration is written");
        let mut command = Command::new(program()?);
        command.arg("-c").arg(&file).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().expect("nats-server starts");
        let log = child.stderr.take().expect("it is piped");
        let mut lines = BufReader::new(log).lines();
        let (mut port, mut seen) = (0, String::new());
        loop {
            let line = lines.next_line().await.expect("its log can be read");
            let line = line.unwrap_or_else(|| panic!("nats-server ended:\n{seen}"));
            seen.push_str(&format!("{line}\n"));
            if let Some((_, address)) = line.split_once("Listening for client connections on ") {
                port = address
                    .rsplit(':')
                    .next()
                    .and_then(|it| it.trim().parse().ok())
                    .expect("a port");
            }
            if line.contains("Server is ready") {
                break;
            }
        }
        // Its log is read on, so that it never waits for a reader.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Some(Self { child, folder, port })
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Kills it, as a machine that fails does.
    pub(crate) async fn kill(&mut self) {
        self.child.kill().await.expect("it was running");
    }

    /// Ends it as an administrator does: it writes down what it knows.
    pub(crate) async fn stop(&mut self) {
        let pid = self.child.id().expect("it runs").to_string();
        Command::new("kill").arg(pid).status().await.expect("there is a kill");
        self.child.wait().await.expect("it was running");
    }

    /// Starts it again on its port, with its streams and this configuration.
    pub(crate) async fn restart(&mut self, config: &str) {
        _ = self.child.kill().await;
        let again = Self::start_in(self.folder.clone(), i32::from(self.port), config).await;
        let mut again = again.expect("it is installed");
        std::mem::swap(&mut self.child, &mut again.child);
        again.folder = PathBuf::new();
    }

    /// Makes a stream that takes these subjects; `more` are further members of its configuration.
    pub(crate) async fn stream(&self, name: &str, subjects: &[&str], more: Value) {
        let mut client = RawClient::connect(self.port, "").await;
        let mut config =
            serde_json::json!({ "name": name, "subjects": subjects, "storage": "file" });
        let members = more.as_object().expect("an object").clone();
        config.as_object_mut().expect("an object").extend(members);
        let answer =
            client.request(&format!("$JS.API.STREAM.CREATE.{name}"), &config.to_string()).await;
        assert!(answer.get("error").is_none(), "{answer}");
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        if self.folder.as_os_str().is_empty() {
            return;
        }
        _ = self.child.start_kill();
        _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn program() -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default();
    let folders = path.split(':').chain(["/usr/sbin", "/usr/local/sbin"]);
    let found =
        folders.map(|folder| PathBuf::from(folder).join("nats-server")).find(|it| it.is_file());
    if found.is_none() {
        eprintln!("skipped: nats-server is not installed");
    }
    found
}

/// A client apart from the one that is tested.
pub(crate) struct RawClient {
    stream: BufReader<TcpStream>,
}

impl RawClient {
    /// Connects with these members of `CONNECT`, such as `"user":"a","pass":"b"`.
    pub(crate) async fn connect(port: u16, options: &str) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).await.expect("the server listens");
        let mut client = Self { stream: BufReader::new(stream) };
        let comma = if options.is_empty() { "" } else { "," };
        client.write(&format!("CONNECT {{\"verbose\":false,\"headers\":true{comma}{options}}}\r\nSUB _INBOX.raw 9\r\nPING\r\n")).await;
        while client.line().await != "PONG" {}
        client
    }

    pub(crate) async fn subscribe(&mut self, subject: &str) {
        self.write(&format!("SUB {subject} 1\r\nPING\r\n")).await;
        while self.line().await != "PONG" {}
    }

    pub(crate) async fn publish(&mut self, subject: &str, headers: &str, payload: &str) {
        let head = format!("NATS/1.0\r\n{headers}\r\n");
        let (head_size, size) = (head.len(), head.len() + payload.len());
        self.write(&format!("HPUB {subject} {head_size} {size}\r\n{head}{payload}\r\nPING\r\n"))
            .await;
        while self.line().await != "PONG" {}
    }

    pub(crate) async fn request(&mut self, subject: &str, body: &str) -> Value {
        self.write(&format!("PUB {subject} _INBOX.raw {}\r\n{body}\r\n", body.len())).await;
        let (_, payload) = self.message().await;
        serde_json::from_str(&payload).expect("the API answers in JSON")
    }

    /// The next message: the lines of its headers, and its payload.
    pub(crate) async fn message(&mut self) -> (String, String) {
        loop {
            let line = self.line().await;
            let words: Vec<_> = line.split(' ').collect();
            let (head, size) = match words[0] {
                "MSG" => (0, words[words.len() - 1]),
                "HMSG" => (words[words.len() - 2].parse().expect("a size"), words[words.len() - 1]),
                _ => continue,
            };
            let size: usize = size.parse().expect("a size");
            let mut bytes = vec![0; size + 2];
            self.stream.read_exact(&mut bytes).await.expect("a whole message");
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
            return (text(&bytes[..head]), text(&bytes[head..size]));
        }
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).await.expect("the server answers");
        assert!(!line.is_empty() && !line.starts_with("-ERR"), "{line}");
        line.trim_end().to_owned()
    }

    async fn write(&mut self, text: &str) {
        self.stream.get_mut().write_all(text.as_bytes()).await.expect("the server reads");
    }
}
