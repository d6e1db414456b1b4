//! One connection of HTTP/1.1.

use std::io;

use bytes::{Buf, Bytes, BytesMut};
use http::header::{CONNECTION, CONTENT_LENGTH, EXPECT, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::interval;

use super::request_log::{OpenConnection, PartialRequest};
use super::script::{ConnectionEnd, PreparedResponse, ReactionKind};
use super::wire::Wire;

/// More headers than any client sends by itself.
const MAX_HEADERS: usize = 128;
/// A head longer than this is an attack or a mistake, and ends the connection.
const MAX_HEAD: usize = 256 << 10;
/// Asked for by `Expect: 100-continue` (RFC 9110, 10.1.1).
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// Serves requests until the client leaves or a reaction ends the connection.
pub(super) async fn serve(wire: Wire, opened: &OpenConnection<'_>) -> io::Result<()> {
    let mut talk = Talk { wire, ahead: BytesMut::new() };
    while talk.begins().await? {
        if opened.log.take_unread() {
            talk.wire.reset();
            break;
        }
        let Some(mut partial) = talk.head().await? else { break };
        let last = wants_close(&partial.headers);
        let complete = talk.body(&mut partial).await.is_ok();
        let is_head = partial.method == Method::HEAD;
        let reaction = opened.log.react(opened.connection, partial, complete).0;
        let ending = talk.act(reaction, is_head).await?;
        if ending != ConnectionEnd::KeepAlive || last {
            return talk.end(ending).await;
        }
    }
    Ok(())
}

struct Talk {
    wire: Wire,
    ahead: BytesMut,
}

impl Talk {
    /// Waits for the first byte of a request; false when the client leaves.
    async fn begins(&mut self) -> io::Result<bool> {
        Ok(!self.ahead.is_empty() || self.wire.readable().await?)
    }

    async fn act(&mut self, kind: ReactionKind, is_head: bool) -> io::Result<ConnectionEnd> {
        match kind {
            ReactionKind::Answer(answer) => self.answer(&answer, is_head).await,
            ReactionKind::Silent(ending) => Ok(ending),
            ReactionKind::ResetUnread => Ok(ConnectionEnd::Reset),
            // There is no such frame here: the connection goes, unanswered.
            ReactionKind::GoAway { .. } => Ok(ConnectionEnd::Close),
        }
    }

    async fn end(&mut self, ending: ConnectionEnd) -> io::Result<()> {
        match ending {
            ConnectionEnd::Hang => {
                self.wait_for_leave().await;
                Ok(())
            }
            ConnectionEnd::Reset => {
                self.wire.reset();
                Ok(())
            }
            ConnectionEnd::KeepAlive | ConnectionEnd::Close | ConnectionEnd::ResetStream(_) => {
                self.wire.flush().await
            }
        }
    }

    async fn wait_for_leave(&mut self) {
        let mut bytes = [0; 1024];
        while matches!(self.wire.read(&mut bytes).await, Ok(1..)) {}
    }

    async fn answer(
        &mut self,
        answer: &PreparedResponse,
        is_head: bool,
    ) -> io::Result<ConnectionEnd> {
        let bodiless = is_head
            || answer.status == StatusCode::NO_CONTENT
            || answer.status == StatusCode::NOT_MODIFIED;
        self.wire.write_all(&head_of(answer, bodiless)).await?;
        self.wire.flush().await?;
        if !bodiless {
            self.send(answer).await?;
        }
        self.wire.flush().await?;
        Ok(answer.ending)
    }

    async fn send(&mut self, answer: &PreparedResponse) -> io::Result<()> {
        let part = answer.part();
        match answer.drip {
            None if !part.is_empty() => self.piece(&part, answer.chunked).await?,
            None => {}
            Some(every) => self.drip(&part, every, answer.chunked).await?,
        }
        if answer.chunked && answer.is_whole() {
            let trailers = fields(answer.trailers.as_ref().unwrap_or(&HeaderMap::new()));
            self.wire.write_all(&[b"0\r\n", trailers.as_slice(), b"\r\n"].concat()).await?;
        }
        Ok(())
    }

    async fn drip(
        &mut self,
        part: &Bytes,
        every: std::time::Duration,
        chunked: bool,
    ) -> io::Result<()> {
        let mut beat = (!every.is_zero()).then(|| interval(every));
        if let Some(beat) = &mut beat {
            // The first beat of an interval comes at once.
            beat.tick().await;
        }
        for byte in part.chunks(1) {
            match &mut beat {
                Some(beat) => _ = beat.tick().await,
                None => tokio::task::yield_now().await,
            }
            self.piece(byte, chunked).await?;
            self.wire.flush().await?;
        }
        Ok(())
    }

    async fn piece(&mut self, bytes: &[u8], chunked: bool) -> io::Result<()> {
        if !chunked {
            return self.wire.write_all(bytes).await;
        }
        let size = format!("{:x}\r\n", bytes.len());
        self.wire.write_all(&[size.as_bytes(), bytes, b"\r\n"].concat()).await
    }

    /// `None` when the client left, or what it says is not HTTP/1.1.
    async fn head(&mut self) -> io::Result<Option<PartialRequest>> {
        loop {
            match parse(&self.ahead) {
                ParsedHead::Head(partial, length) => {
                    self.ahead.advance(length);
                    return Ok(Some(*partial));
                }
                ParsedHead::Partial if self.ahead.len() < MAX_HEAD && self.more().await? => {}
                ParsedHead::Partial | ParsedHead::Wrong => return Ok(None),
            }
        }
    }

    async fn body(&mut self, partial: &mut PartialRequest) -> io::Result<()> {
        let chunked = partial.headers.contains_key(TRANSFER_ENCODING);
        let length = partial.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok());
        let length = length.and_then(|value| value.parse().ok()).unwrap_or(0);
        if partial.headers.contains_key(EXPECT) && (chunked || length > 0) {
            self.wire.write_all(CONTINUE).await?;
            self.wire.flush().await?;
        }
        if !chunked {
            return self.take(length, partial).await;
        }
        loop {
            let line = self.line().await?;
            let size = line.split(|byte| *byte == b';').next().unwrap_or_default();
            let size = std::str::from_utf8(size).map_err(io::Error::other)?;
            match u64::from_str_radix(size.trim(), 16).map_err(io::Error::other)? {
                0 => break,
                size => self.take(size, partial).await?,
            }
            self.line().await?;
        }
        // Trailers, up to the empty line.
        while !self.line().await?.is_empty() {}
        Ok(())
    }

    async fn take(&mut self, mut bytes: u64, partial: &mut PartialRequest) -> io::Result<()> {
        while bytes > 0 {
            if self.ahead.is_empty() && !self.more().await? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let here = usize::try_from(bytes).unwrap_or(usize::MAX).min(self.ahead.len());
            partial.keep(&self.ahead.split_to(here));
            // OK because usize has at most 64 bits.
            bytes -= here as u64;
        }
        Ok(())
    }

    /// A line without its end.
    async fn line(&mut self) -> io::Result<Bytes> {
        loop {
            if let Some(at) = self.ahead.windows(2).position(|pair| pair == b"\r\n") {
                let line = self.ahead.split_to(at).freeze();
                self.ahead.advance(2);
                return Ok(line);
            }
            if !self.more().await? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    async fn more(&mut self) -> io::Result<bool> {
        Ok(self.wire.read_buf(&mut self.ahead).await? > 0)
    }
}

enum ParsedHead {
    Head(Box<PartialRequest>, usize),
    Partial,
    Wrong,
}

fn parse(bytes: &[u8]) -> ParsedHead {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let length = match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return ParsedHead::Partial,
        Err(_) => return ParsedHead::Wrong,
    };
    let method = request.method.and_then(|name| Method::from_bytes(name.as_bytes()).ok());
    let (Some(method), Some(path)) = (method, request.path) else { return ParsedHead::Wrong };
    let of = |header: &httparse::Header<'_>| {
        let name = HeaderName::from_bytes(header.name.as_bytes()).ok()?;
        Some((name, HeaderValue::from_bytes(header.value).ok()?))
    };
    let mut map = HeaderMap::new();
    for (name, value) in request.headers.iter().filter_map(of) {
        map.append(name, value);
    }
    let partial = PartialRequest {
        version: Version::HTTP_11,
        method,
        path: path.to_owned(),
        headers: map,
        body: Vec::new(),
        body_len: 0,
    };
    ParsedHead::Head(Box::new(partial), length)
}

fn wants_close(headers: &HeaderMap) -> bool {
    let says = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"close");
    headers.get_all(CONNECTION).iter().any(says)
}

/// Status line and headers; a length or a coding is added unless the script wrote its own.
fn head_of(answer: &PreparedResponse, bodiless: bool) -> Vec<u8> {
    let status = answer.status;
    let reason = status.canonical_reason().unwrap_or_default();
    let mut head = format!("HTTP/1.1 {} {reason}\r\n", status.as_u16()).into_bytes();
    head.extend(fields(&answer.headers));
    let own = [CONTENT_LENGTH, TRANSFER_ENCODING].iter().any(|n| answer.headers.contains_key(n));
    if !own && answer.chunked && !bodiless {
        head.extend_from_slice(b"transfer-encoding: chunked\r\n");
    } else if !own && status != StatusCode::NO_CONTENT {
        head.extend(format!("content-length: {}\r\n", answer.body.len()).into_bytes());
    }
    head.extend_from_slice(b"\r\n");
    head
}

fn fields(headers: &HeaderMap) -> Vec<u8> {
    let field = |(name, value): (&HeaderName, &HeaderValue)| {
        [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat()
    };
    headers.iter().flat_map(field).collect()
}
