//! A server that answers 200 to everything, or 101 to `/socket`, and keeps every byte that it was sent.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

type Bytes = Vec<Vec<u8>>;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok";
const SWITCHED: &[u8] =
    b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n";

/// A listening server.
pub(crate) struct Recorder {
    pub(crate) address: SocketAddr,
    connections: Arc<Mutex<Bytes>>,
}

impl Recorder {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let connections = Arc::<Mutex<Bytes>>::default();
        let kept = Arc::clone(&connections);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(record(stream, Arc::clone(&kept)));
            }
        });
        Self { address, connections }
    }

    /// The bytes of each connection that was used, but for those of the other client.
    pub(crate) fn raw(&self) -> Bytes {
        let connections = self.connections.lock().expect("no panic").clone();
        connections
            .into_iter()
            .filter(|it| !it.is_empty() && !it.starts_with(b"GET /other "))
            .collect()
    }

    /// The method, path and body of each request, with commas between them; `nothing` for none.
    pub(crate) fn seen(&self) -> String {
        let raw = self.raw();
        let mut seen: Vec<String> = raw.iter().flat_map(|bytes| requests(bytes)).collect();
        seen.dedup();
        if seen.is_empty() { "nothing".to_owned() } else { seen.join(", ") }
    }
}

/// Answers each whole request of a connection, and closes after it, so that further bytes of it are seen as such.
async fn record(mut stream: TcpStream, kept: Arc<Mutex<Bytes>>) {
    let at = {
        let mut kept = kept.lock().expect("no panic");
        kept.push(Vec::new());
        kept.len() - 1
    };
    let mut answered = false;
    let mut part = [0; 4096];
    while let Ok(read @ 1..) = stream.read(&mut part).await {
        let (whole, asks_for_socket) = {
            let mut kept = kept.lock().expect("no panic");
            kept[at].extend_from_slice(&part[..read]);
            (is_whole(&kept[at]), kept[at].starts_with(b"GET /socket "))
        };
        if whole && !answered {
            answered = true;
            _ = stream.write_all(if asks_for_socket { SWITCHED } else { OK }).await;
        }
    }
}

fn split(bytes: &[u8]) -> Option<(String, &[u8])> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    Some((String::from_utf8_lossy(&bytes[..end]).into_owned(), &bytes[end + 4..]))
}

fn field<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    let lines = head.lines().filter_map(|line| line.split_once(':'));
    lines.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

fn is_whole(bytes: &[u8]) -> bool {
    let Some((head, body)) = split(bytes) else { return false };
    match field(&head, "content-length").and_then(|length| length.parse().ok()) {
        Some(length) => body.len() >= length,
        None => field(&head, "transfer-encoding").is_none() || body.ends_with(b"0\r\n\r\n"),
    }
}

/// The requests of one connection: the first one, and all that comes behind it as it is.
fn requests(bytes: &[u8]) -> Vec<String> {
    let Some((head, body)) = split(bytes) else {
        return vec![String::from_utf8_lossy(bytes).into_owned()];
    };
    let line: Vec<&str> = head.split(' ').collect();
    let text = String::from_utf8_lossy(body).into_owned();
    let (body, rest) = match field(&head, "content-length").and_then(|length| length.parse().ok()) {
        Some(length) if length < text.len() => {
            (text[..length].to_owned(), text[length..].to_owned())
        }
        Some(_) => (text, String::new()),
        None => (chunks(&text), String::new()),
    };
    let request = format!("{} {} {body}", line[0], line[1]).trim_end().to_owned();
    let behind = (!rest.is_empty()).then_some(rest);
    std::iter::once(request).chain(behind).collect()
}

/// The text of a body in chunks.
fn chunks(text: &str) -> String {
    let mut lines = text.split("\r\n");
    let mut body = String::new();
    while let (Some(_), Some(chunk)) = (lines.next(), lines.next()) {
        body += chunk;
    }
    body
}

/// Whether every reader of a head takes it the same way: lines end with CR LF, no line is folded, no byte is a control
/// character, and the body has one length.
pub(crate) fn is_strict(bytes: &[u8]) -> bool {
    let Some((head, _)) = split(bytes) else { return bytes.is_empty() };
    let lines: Vec<&str> = head.split("\r\n").collect();
    let named = |name: &str| {
        lines
            .iter()
            .filter(|line| line.to_ascii_lowercase().starts_with(&format!("{name}:")))
            .count()
    };
    let plain = |line: &&str| {
        !line.starts_with([' ', '\t'])
            && !line.chars().any(|letter| letter.is_control() && letter != '\t')
    };
    lines.iter().all(plain)
        && named("host") == 1
        && named("content-length") + named("transfer-encoding") <= 1
}

#[test]
fn what_is_not_strict_is_found() {
    assert!(is_strict(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n"));
    for head in [
        "GET / HTTP/1.1\r\nhost: a\nx: b\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: a\r\n b\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
        "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
    ] {
        assert!(!is_strict(head.as_bytes()), "{head:?}");
    }
    let behind = requests(b"POST / HTTP/1.1\r\ncontent-length: 2\r\n\r\nokGET /x");
    assert_eq!(behind, ["POST / ok", "GET /x"]);
}
