//! A receiver of webhooks that costs little: many endpoints on one port, told apart by their path.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// Headers of one delivery; there are about ten.
const HEADERS: usize = 48;
/// The number of bytes of a dripping answer: one a second.
const DRIPS: usize = 75;

/// One attempt, as it came.
#[derive(Debug)]
pub(crate) struct Arrival<'a> {
    /// The port of the other side.
    pub(crate) peer: u16,
    /// The number of the endpoint, which is its path.
    pub(crate) endpoint: usize,
    /// `webhook-id`.
    pub(crate) id: &'a str,
    /// `stagger-attempt`.
    pub(crate) attempt: u64,
    pub(crate) body: &'a [u8],
}

/// The reaction of an endpoint to an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reaction {
    Answer(u16),
    /// 500 to the first attempt of one message in so many, else 200.
    FirstFails(u64),
    /// Answers so much later.
    Late(Duration, u16),
    /// Closes the connection without an answer.
    Close,
    /// Never answers.
    Hang,
    /// 200 at once, then a byte of the body every second.
    Drip,
    /// 200 at once, then a body that does not end.
    Endless,
}

/// Decides reactions, and records attempts.
pub(crate) trait Witness: Send + Sync + 'static {
    /// Called when all of an attempt has arrived.
    fn arrived(&self, arrival: &Arrival<'_>) -> Reaction;

    /// Called when the head of an answer has been written.
    fn answered(&self, _arrival: &Arrival<'_>, _status: u16) {}
}

/// A listening receiver; it stops when dropped.
#[derive(Debug)]
pub(crate) struct Receiver {
    addr: SocketAddr,
    listening: JoinHandle<()>,
}

impl Receiver {
    /// Listens on a free port of loopback.
    pub(crate) async fn start(witness: Arc<impl Witness>) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let addr = listener.local_addr()?;
        let listening = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let witness = Arc::clone(&witness);
                // A connection that breaks is the server's business: it was killed, or gave up.
                tokio::spawn(async move { serve(stream, &*witness).await.ok() });
            }
        });
        Ok(Self { addr, listening })
    }

    /// The URL of an endpoint.
    pub(crate) fn url(&self, endpoint: usize) -> String {
        format!("http://{}/{endpoint}", self.addr)
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn serve(mut stream: TcpStream, witness: &impl Witness) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let peer = stream.peer_addr()?.port();
    let mut buffer = Vec::with_capacity(4096);
    loop {
        if let Some((arrival, length)) = whole(peer, &buffer)? {
            if !react(&mut stream, witness, &arrival).await? {
                return Ok(());
            }
            buffer.drain(..length);
        } else if stream.read_buf(&mut buffer).await? == 0 {
            return Ok(());
        }
    }
}

/// Does what the witness says; false when the connection is to be closed.
async fn react(
    stream: &mut TcpStream,
    witness: &impl Witness,
    arrival: &Arrival<'_>,
) -> io::Result<bool> {
    let (status, drips) = match witness.arrived(arrival) {
        Reaction::Answer(status) => (status, 0),
        Reaction::FirstFails(one_in) => {
            let marker = Marker::of(arrival.body).map_or(0, |Marker(marker)| marker);
            let mix = marker as u64 ^ arrival.endpoint as u64;
            let fails = arrival.attempt == 1 && mix.is_multiple_of(one_in);
            (if fails { 500 } else { 200 }, 0)
        }
        Reaction::Late(span, status) => {
            sleep(span).await;
            (status, 0)
        }
        Reaction::Drip => (200, DRIPS),
        Reaction::Endless => {
            stream.write_all(b"HTTP/1.1 200 x\r\ncontent-length: 1000000000000\r\n\r\n").await?;
            loop {
                stream.write_all(&[b'.'; 1 << 16]).await?;
            }
        }
        Reaction::Close => return Ok(false),
        Reaction::Hang => {
            // Until the other side has had enough; what it sends meanwhile is nothing.
            stream.read_u8().await?;
            return Ok(false);
        }
    };
    let head = format!("HTTP/1.1 {status} x\r\ncontent-length: {drips}\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    witness.answered(arrival, status);
    for _ in 0..drips {
        sleep(Duration::from_secs(1)).await;
        stream.write_all(b".").await?;
    }
    Ok(true)
}

/// The first request of the buffer and its length, once all of it is there.
fn whole(peer: u16, buffer: &[u8]) -> io::Result<Option<(Arrival<'_>, usize)>> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let parsed = request.parse(buffer).map_err(io::Error::other)?;
    let httparse::Status::Complete(until) = parsed else { return Ok(None) };
    let (mut length, mut id, mut attempt) = (0, "", 0);
    for header in request.headers.iter() {
        let text = || std::str::from_utf8(header.value).unwrap_or_default();
        match header.name {
            name if name.eq_ignore_ascii_case("content-length") => {
                length = text().parse().map_err(io::Error::other)?;
            }
            name if name.eq_ignore_ascii_case("webhook-id") => id = text(),
            name if name.eq_ignore_ascii_case("stagger-attempt") => {
                attempt = text().parse().unwrap_or_default();
            }
            _ => {}
        }
    }
    let endpoint = request.path.unwrap_or_default().trim_start_matches('/').parse();
    let endpoint = endpoint.map_err(io::Error::other)?;
    let Some(body) = buffer.get(until..until + length) else { return Ok(None) };
    Ok(Some((Arrival { peer, endpoint, id, attempt, body }, until + length)))
}

/// The number of a post, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Marker(pub(crate) usize);

/// The bytes before the digits.
const HEAD: &str = r#"{"marker":""#;
/// Digits of a marker: more posts than any run makes.
const DIGITS: usize = 9;
/// The bytes after them, before the padding.
const MIDDLE: &str = r#"","padding":""#;
const TAIL: &str = r#""}"#;

impl Marker {
    /// A JSON object of exactly `size` bytes, or the few that it takes at least, that holds it.
    pub(crate) fn payload(self, size: usize) -> String {
        let bare = HEAD.len() + DIGITS + MIDDLE.len() + TAIL.len();
        let padding = "x".repeat(size.saturating_sub(bare));
        format!("{HEAD}{:0DIGITS$}{MIDDLE}{padding}{TAIL}", self.0)
    }

    /// The marker of a payload; none of bytes that are no payload of ours.
    pub(crate) fn of(payload: &[u8]) -> Option<Self> {
        let digits = payload.strip_prefix(HEAD.as_bytes())?.get(..DIGITS)?;
        std::str::from_utf8(digits).ok()?.parse().ok().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::rig::{Connection, HttpRequest};

    struct Script(Mutex<Vec<(usize, u64)>>);

    impl Witness for Script {
        fn arrived(&self, arrival: &Arrival<'_>) -> Reaction {
            let mut seen = self.0.lock().expect("nobody panics while holding it");
            seen.push((arrival.endpoint, arrival.attempt));
            if seen.len() < 3 { Reaction::Answer(503) } else { Reaction::Close }
        }
    }

    #[tokio::test]
    async fn requests_of_one_connection_are_told_apart() {
        let script = Arc::new(Script(Mutex::default()));
        let receiver = Receiver::start(Arc::clone(&script)).await.expect("loopback has ports");
        let mut connection = Connection::open(receiver.addr).await.expect("it listens");
        let headers = [("webhook-id", "msg_1"), ("Stagger-Attempt", "2")];
        for path in ["/4", "/5"] {
            let request = HttpRequest::new("POST", path, "k", &headers, "{}");
            assert_eq!(connection.send(&request).await.expect("it answers").status, 503);
        }
        let request = HttpRequest::new("POST", "/6", "k", &headers, "{}");
        assert!(connection.send(&request).await.is_err());
        assert_eq!(*script.0.lock().expect("nobody panicked"), [(4, 2), (5, 2), (6, 2)]);
    }

    #[test]
    fn half_a_body_is_no_arrival() {
        let text = b"POST /0 HTTP/1.1\r\ncontent-length: 4\r\n\r\nabcd";
        assert!(whole(1, &text[..text.len() - 1]).expect("so far it is valid").is_none());
        assert_eq!(
            whole(1, text).expect("it is valid").map(|(_, length)| length),
            Some(text.len())
        );
    }

    #[test]
    fn a_payload_says_its_marker_and_has_its_size() {
        let text = Marker(4_711).payload(1024);
        assert_eq!((text.len(), Marker::of(text.as_bytes())), (1024, Some(Marker(4_711))));
        assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
        assert_eq!(Marker::of(br#"{"type":"stagger.test"}"#), None);
    }
}
