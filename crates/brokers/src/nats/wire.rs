//! The protocol of NATS, as the server writes it: lines, and messages with their headers.
//!
//! <https://docs.nats.io/reference/reference-protocols/nats-protocol>

use bytes::{Buf, Bytes, BytesMut};
use serde::Deserialize;

/// Longest line of the protocol, in bytes: `INFO` of a large cluster.
const MAX_LINE: usize = 64 << 10;
/// Largest message with its headers, in bytes: the largest that a server may be configured to take.
const MAX_MESSAGE: usize = 64 << 20;

/// One operation of the server.
#[derive(Debug, PartialEq)]
pub(super) enum ServerOp {
    Info(ServerInfo),
    Message(NatsMessage),
    Ping,
    Pong,
    Ok,
    Error(String),
}

/// The server about itself. Its list of other servers of the cluster (`connect_urls`) is not read: no address that a server
/// advertises is dialled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct ServerInfo {
    pub(super) max_payload: usize,
    pub(super) tls_required: bool,
    pub(super) headers: bool,
    pub(super) nonce: Option<String>,
}

/// A message as it came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NatsMessage {
    pub(super) subject: String,
    pub(super) reply: Option<String>,
    /// The status of the header's first line, of messages that the server itself writes.
    pub(super) status: Option<u16>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) payload: Bytes,
}

impl NatsMessage {
    /// The value of a header, whatever the case of its name.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// Text that is not of the protocol.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotNats;

/// Takes the next operation off the buffer; `None` if it has not come as a whole.
pub(super) fn take(buffer: &mut BytesMut) -> Result<Option<ServerOp>, NotNats> {
    let Some(end) = buffer.windows(2).position(|pair| pair == b"\r\n") else {
        return if buffer.len() > MAX_LINE { Err(NotNats) } else { Ok(None) };
    };
    let line = std::str::from_utf8(&buffer[..end]).map_err(|_| NotNats)?.to_owned();
    let (name, rest) = line.split_once([' ', '\t']).unwrap_or((&line, ""));
    let op = match name.to_ascii_uppercase().as_str() {
        "MSG" | "HMSG" => {
            let has_headers = name.len() == 4;
            return take_message(has_headers, rest, end + 2, buffer);
        }
        "INFO" => ServerOp::Info(serde_json::from_str(rest).map_err(|_| NotNats)?),
        "PING" => ServerOp::Ping,
        "PONG" => ServerOp::Pong,
        "+OK" => ServerOp::Ok,
        "-ERR" => ServerOp::Error(rest.trim().trim_matches('\'').to_owned()),
        _ => return Err(NotNats),
    };
    buffer.advance(end + 2);
    Ok(Some(op))
}

/// `MSG subject sid [reply] size` or `HMSG subject sid [reply] header-size size`, then the bytes and a line break.
fn take_message(
    has_headers: bool,
    arguments: &str,
    begin: usize,
    buffer: &mut BytesMut,
) -> Result<Option<ServerOp>, NotNats> {
    let words: Vec<&str> = arguments.split_ascii_whitespace().collect();
    let sizes = 1 + usize::from(has_headers);
    let (subject, reply) = match words.len().checked_sub(sizes) {
        Some(2) => (words[0], None),
        Some(3) => (words[0], Some(words[2])),
        _ => return Err(NotNats),
    };
    let size = |at: usize| words[at].parse::<usize>().ok().filter(|size| *size <= MAX_MESSAGE);
    let total = size(words.len() - 1).ok_or(NotNats)?;
    let head = if has_headers { size(words.len() - 2).ok_or(NotNats)? } else { 0 };
    if head > total {
        return Err(NotNats);
    }
    if buffer.len() < begin + total + 2 {
        return Ok(None);
    }
    buffer.advance(begin);
    let mut message = NatsMessage {
        subject: subject.to_owned(),
        reply: reply.map(str::to_owned),
        ..NatsMessage::default()
    };
    read_headers(&buffer.split_to(head), &mut message);
    message.payload = buffer.split_to(total - head).freeze();
    buffer.advance(2);
    Ok(Some(ServerOp::Message(message)))
}

/// `NATS/1.0 [status [words]]`, then a line for each header.
fn read_headers(head: &[u8], message: &mut NatsMessage) {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.split("\r\n");
    let first = lines.next().unwrap_or_default();
    message.status = first.split_ascii_whitespace().nth(1).and_then(|status| status.parse().ok());
    let headers = lines.filter_map(|line| line.split_once(':'));
    message.headers =
        headers.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8]) -> Result<Vec<ServerOp>, NotNats> {
        let mut buffer = BytesMut::from(text);
        let mut ops = Vec::new();
        while let Some(op) = take(&mut buffer)? {
            ops.push(op);
        }
        assert!(buffer.is_empty(), "{buffer:?}");
        Ok(ops)
    }

    #[test]
    fn operations_are_read_as_the_reference_writes_them() {
        let ops = all(b"INFO {\"max_payload\":1048576,\"headers\":true,\"connect_urls\":[\"169.254.169.254:1\"]}\r\nPING\r\n+OK\r\n-ERR 'Unknown Protocol Operation'\r\nMSG FOO.BAR 9 GREETING.34 11\r\nHello World\r\nHMSG A 9 34 45\r\nNATS/1.0\r\nFoodGroup: vegetable\r\n\r\nHello World\r\nHMSG B 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n")
            .unwrap();
        let info = ServerInfo { max_payload: 1_048_576, headers: true, ..ServerInfo::default() };
        assert_eq!(ops[0], ServerOp::Info(info));
        assert_eq!(ops[3], ServerOp::Error("Unknown Protocol Operation".to_owned()));
        let ServerOp::Message(plain) = &ops[4] else { panic!("{:?}", ops[4]) };
        assert_eq!(
            (plain.reply.as_deref(), &plain.payload[..]),
            (Some("GREETING.34"), &b"Hello World"[..])
        );
        let ServerOp::Message(with) = &ops[5] else { panic!("{:?}", ops[5]) };
        assert_eq!((with.header("foodgroup"), with.status), (Some("vegetable"), None));
        let ServerOp::Message(none) = &ops[6] else { panic!("{:?}", ops[6]) };
        assert_eq!((none.status, none.payload.len()), (Some(503), 0));
    }

    #[test]
    fn an_operation_is_read_once_it_is_whole_and_nonsense_is_refused() {
        let whole = b"HMSG A 9 r 34 45\r\nNATS/1.0\r\nFoodGroup: vegetable\r\n\r\nHello World\r\n";
        for end in 0..whole.len() {
            let mut buffer = BytesMut::from(&whole[..end]);
            assert_eq!(take(&mut buffer), Ok(None), "{end}");
            assert_eq!(buffer.len(), end);
        }
        for wrong in [
            "HTTP/1.1 400 Bad\r\n",
            "MSG A 1\r\n",
            "MSG A 1 -1\r\n",
            "HMSG A 1 9 8\r\n",
            "MSG A 1 99999999999\r\n",
        ] {
            assert_eq!(take(&mut BytesMut::from(wrong)), Err(NotNats), "{wrong}");
        }
        assert_eq!(take(&mut BytesMut::from(&vec![b'a'; MAX_LINE + 1][..])), Err(NotNats));
    }
}
