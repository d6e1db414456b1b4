//! A connection that is kept alive, one request at a time: as lean as a client can be.

use std::fmt::Write as _;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

/// More than any answer that the chores ask for, so that a server gone mad ends the run.
const ANSWER_LIMIT: usize = 8 << 20;
/// Headers of one answer; there are fewer than ten.
const HEADERS: usize = 32;

/// One request, ready to be written.
#[derive(Debug)]
pub(crate) struct HttpRequest(Vec<u8>);

impl HttpRequest {
    /// A request with a bearer key, headers of its own, and a JSON body if it is not empty.
    pub(crate) fn new(
        method: &str,
        path: &str,
        key: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Self {
        let mut text = format!("{method} {path} HTTP/1.1\r\nhost: stagger\r\n");
        let _ = write!(text, "authorization: Bearer {key}\r\n");
        for (name, value) in headers {
            let _ = write!(text, "{name}: {value}\r\n");
        }
        if !body.is_empty() {
            text.push_str("content-type: application/json\r\n");
        }
        let _ = write!(text, "content-length: {}\r\n\r\n{body}", body.len());
        Self(text.into_bytes())
    }
}

/// A received reply.
#[derive(Debug)]
pub(crate) struct HttpAnswer<'a> {
    pub(crate) status: u16,
    /// Whole seconds, where the answer says when to come back.
    pub(crate) retry_after: Option<u64>,
    pub(crate) body: &'a [u8],
}

impl HttpAnswer<'_> {
    /// The text between `"id":"` and the next quote: the first id of a JSON body, without a parser.
    pub(crate) fn id(&self) -> Option<&str> {
        let text = std::str::from_utf8(self.body).ok()?;
        let (_, rest) = text.split_once(r#""id":"#)?;
        rest.trim_start().strip_prefix('"')?.split('"').next()
    }
}

/// An open connection to the server.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// Connects from an address of this host. All of 127.0.0.0/8 is loopback on Linux, so that clients of one
/// host can be told apart there.
pub(crate) async fn dial_from(source: Ipv4Addr, addr: SocketAddr) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::new(IpAddr::V4(source), 0))?;
    socket.connect(addr).await
}

impl Connection {
    pub(crate) async fn open(addr: SocketAddr) -> io::Result<Self> {
        Self::over(TcpStream::connect(addr).await?)
    }

    /// The same over a stream that is open.
    pub(crate) fn over(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::with_capacity(4096) })
    }

    /// Sends a request and reads its answer. After an error the connection is of no more use.
    pub(crate) async fn send(&mut self, request: &HttpRequest) -> io::Result<HttpAnswer<'_>> {
        self.buffer.clear();
        self.stream.write_all(&request.0).await?;
        loop {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if let Some(head) = Head::read(&self.buffer)?
                && self.buffer.len() >= head.until + head.length
            {
                let body = &self.buffer[head.until..head.until + head.length];
                return Ok(HttpAnswer { status: head.status, retry_after: head.retry_after, body });
            }
            if self.buffer.len() > ANSWER_LIMIT {
                return Err(io::Error::other("the answer has no end"));
            }
        }
    }
}

/// The head of an answer, once all of it is there.
struct Head {
    status: u16,
    retry_after: Option<u64>,
    until: usize,
    length: usize,
}

impl Head {
    fn read(bytes: &[u8]) -> io::Result<Option<Self>> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut response = httparse::Response::new(&mut headers);
        let httparse::Status::Complete(until) = response.parse(bytes).map_err(io::Error::other)?
        else {
            return Ok(None);
        };
        let number = |name: &str| {
            let header = response.headers.iter().find(|h| h.name.eq_ignore_ascii_case(name))?;
            std::str::from_utf8(header.value).ok()?.parse::<u64>().ok()
        };
        let chunked = |h: &httparse::Header<'_>| h.name.eq_ignore_ascii_case("transfer-encoding");
        if response.headers.iter().any(chunked) {
            return Err(io::Error::other("an answer in chunks, which this client does not read"));
        }
        let length = number("content-length").unwrap_or(0);
        let length = usize::try_from(length).map_err(io::Error::other)?;
        let status = response.code.unwrap_or(0);
        Ok(Some(Self { status, retry_after: number("retry-after"), until, length }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_found_with_and_without_blanks() {
        for body in [r#"{"id":"msg_1","repeated":false}"#, r#"{"name": "a", "id": "msg_1"}"#] {
            let answer = HttpAnswer { status: 202, retry_after: None, body: body.as_bytes() };
            assert_eq!(answer.id(), Some("msg_1"), "{body}");
        }
    }

    #[test]
    fn half_a_head_is_no_head() {
        let text = b"HTTP/1.1 503 x\r\nRetry-After: 2\r\nContent-Length: 0\r\n\r\n";
        assert!(Head::read(&text[..40]).expect("so far it is valid").is_none());
        let head = Head::read(text).expect("it is valid").expect("it is whole");
        assert_eq!((head.status, head.retry_after, head.until), (503, Some(2), text.len()));
    }
}
