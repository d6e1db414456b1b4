//! A PostgreSQL of one test's own, which it may stop, and a proxy that it may cut.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/postgres");

/// A running server, ended and deleted with this.
#[derive(Debug)]
pub(crate) struct OwnServer {
    folder: PathBuf,
    pub(crate) url: String,
    tls: Option<u16>,
}

impl OwnServer {
    /// Starts one; none, with a message, where no database is wanted.
    pub(crate) fn start(name: &str) -> Option<Self> {
        if std::env::var_os("STAGGER_TEST_POSTGRES").is_none() {
            eprintln!("skipped: STAGGER_TEST_POSTGRES names no database");
            return None;
        }
        // The name of a socket has room for some hundred characters.
        let folder = std::env::temp_dir().join(format!("stagger-{name}-{}", std::process::id()));
        fs::remove_dir_all(&folder).ok();
        fs::DirBuilder::new().mode(0o755).create(&folder).unwrap();
        let mut server = Self { folder, url: String::new(), tls: None };
        server.url = server.script("start").trim().to_owned();
        Some(server)
    }

    /// Starts a server that also takes connections over TCP, with TLS for this certificate and key
    /// (PEM). Its address names its socket; the port is for TLS.
    pub(crate) fn start_tls(name: &str, certificate: &str, key: &str) -> Option<(Self, u16)> {
        let mut server = Self::start(name)?;
        server.stop();
        fs::write(server.folder.join("server.crt"), certificate).unwrap();
        fs::write(server.folder.join("server.key"), key).unwrap();
        // Free at this moment: the system gives no port out again soon.
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        server.tls = Some(port);
        server.url = server.script("start").trim().to_owned();
        Some((server, port))
    }

    /// The folder for files of the test.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Stops it immediately, as a crash would.
    pub(crate) fn stop(&self) {
        self.script("stop");
    }

    /// Starts it again.
    pub(crate) fn go_on(&self) {
        self.script("start");
    }

    fn script(&self, act: &str) -> String {
        let mut command = Command::new(SCRIPT);
        command.arg(act).arg(&self.folder);
        if let Some(port) = self.tls.filter(|_| act == "start") {
            command.args(["tls", &port.to_string()]);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        Command::new(SCRIPT).arg("stop").arg(&self.folder).output().ok();
        fs::remove_dir_all(&self.folder).ok();
    }
}

/// A fault of the next commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum CommitFault {
    /// Nothing.
    Never,
    /// It takes effect, and the answer is lost.
    Answer,
    /// It never arrives.
    Question,
    /// It never arrives, and neither side notices that the other is gone.
    Silence,
}

/// A listener that forwards to the server.
#[derive(Debug)]
pub(crate) struct Proxy {
    pub(crate) port: u16,
    cut: Arc<AtomicU8>,
}

impl Proxy {
    /// Forwards to the socket in `folder`.
    pub(crate) async fn start(folder: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let cut = Arc::new(AtomicU8::new(CommitFault::Never as u8));
        let (socket, armed) = (format!("{folder}/.s.PGSQL.5432"), Arc::clone(&cut));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = UnixStream::connect(&socket).await.unwrap();
                tokio::spawn(forward(client, server, Arc::clone(&armed)));
            }
        });
        Self { port, cut }
    }

    /// Cuts the next commit.
    pub(crate) fn arm(&self, cut: CommitFault) {
        self.cut.store(cut as u8, Ordering::SeqCst);
    }

    /// Whether it has been cut.
    pub(crate) fn is_through(&self) -> bool {
        self.cut.load(Ordering::SeqCst) == CommitFault::Never as u8
    }
}

const COMMIT: &[u8] = b"COMMIT\0";

async fn forward(client: TcpStream, server: UnixStream, cut: Arc<AtomicU8>) {
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let muted = Arc::new(OnceLock::new());
    let back = tokio::spawn(pump(from_server, to_client, {
        let muted = Arc::clone(&muted);
        move |_| if muted.get().is_some() { ProxyAction::End } else { ProxyAction::Pass }
    }));
    let end = move |bytes: &[u8]| {
        if !bytes.windows(COMMIT.len()).any(|part| part == COMMIT) {
            return ProxyAction::Pass;
        }
        match cut.swap(CommitFault::Never as u8, Ordering::SeqCst) {
            armed if armed == CommitFault::Answer as u8 => {
                muted.set(()).ok();
                ProxyAction::PassAndEnd
            }
            armed if armed == CommitFault::Question as u8 => ProxyAction::End,
            armed if armed == CommitFault::Silence as u8 => ProxyAction::Hang,
            _ => ProxyAction::Pass,
        }
    };
    if pump(from_client, to_server, end).await == ProxyAction::PassAndEnd {
        // The server's answer ends the other direction.
        back.await.ok();
    } else {
        back.abort();
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProxyAction {
    Pass,
    PassAndEnd,
    End,
    Hang,
}

async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    judge: impl Fn(&[u8]) -> ProxyAction,
) -> ProxyAction {
    let mut bytes = vec![0; 1 << 16];
    loop {
        let read = from.read(&mut bytes).await.unwrap_or(0);
        let next = if read == 0 { ProxyAction::End } else { judge(&bytes[..read]) };
        if next == ProxyAction::Hang {
            std::future::pending::<()>().await;
        }
        if next == ProxyAction::End || to.write_all(&bytes[..read]).await.is_err() {
            return ProxyAction::End;
        }
        if next == ProxyAction::PassAndEnd {
            return next;
        }
    }
}
