//! A wire between store and server that a test can cut in the middle of a commit.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};

/// A fault of the next commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Cut {
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
        let cut = Arc::new(AtomicU8::new(Cut::Never as u8));
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
    pub(crate) fn arm(&self, cut: Cut) {
        self.cut.store(cut as u8, Ordering::SeqCst);
    }

    /// Whether it has been cut.
    pub(crate) fn is_through(&self) -> bool {
        self.cut.load(Ordering::SeqCst) == Cut::Never as u8
    }
}

const COMMIT: &[u8] = b"COMMIT\0";

async fn forward(client: TcpStream, server: UnixStream, cut: Arc<AtomicU8>) {
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let muted = Arc::new(OnceLock::new());
    let back = tokio::spawn(pump(from_server, to_client, {
        let muted = Arc::clone(&muted);
        move |_| if muted.get().is_some() { Next::End } else { Next::Pass }
    }));
    let end = move |bytes: &[u8]| {
        if !bytes.windows(COMMIT.len()).any(|part| part == COMMIT) {
            return Next::Pass;
        }
        match cut.swap(Cut::Never as u8, Ordering::SeqCst) {
            armed if armed == Cut::Answer as u8 => {
                muted.set(()).ok();
                Next::PassAndEnd
            }
            armed if armed == Cut::Question as u8 => Next::End,
            armed if armed == Cut::Silence as u8 => Next::Hang,
            _ => Next::Pass,
        }
    };
    if pump(from_client, to_server, end).await == Next::PassAndEnd {
        // The server's answer ends the other direction.
        back.await.ok();
    } else {
        back.abort();
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Pass,
    PassAndEnd,
    End,
    Hang,
}

async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    judge: impl Fn(&[u8]) -> Next,
) -> Next {
    let mut bytes = vec![0; 1 << 16];
    loop {
        let read = from.read(&mut bytes).await.unwrap_or(0);
        let next = if read == 0 { Next::End } else { judge(&bytes[..read]) };
        if next == Next::Hang {
            std::future::pending::<()>().await;
        }
        if next == Next::End || to.write_all(&bytes[..read]).await.is_err() {
            return Next::End;
        }
        if next == Next::PassAndEnd {
            return next;
        }
    }
}
