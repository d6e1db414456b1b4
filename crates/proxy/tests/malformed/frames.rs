//! Frames of HTTP/2, written as an attacker writes them.

/// The first bytes of a client of HTTP/2.
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// The names of the errors (RFC 9113 section 7).
const ERRORS: [&str; 14] = [
    "no error",
    "protocol error",
    "internal error",
    "flow control error",
    "settings timeout",
    "stream closed",
    "frame size error",
    "refused stream",
    "cancel",
    "compression error",
    "connect error",
    "enhance your calm",
    "inadequate security",
    "HTTP/1.1 required",
];

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a small payload").to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// A literal field without indexing.
fn field(name: &str, value: &str) -> Vec<u8> {
    let mut bytes = vec![0, u8::try_from(name.len()).expect("short")];
    bytes.extend(name.bytes());
    bytes.push(u8::try_from(value.len()).expect("short"));
    bytes.extend(value.bytes());
    bytes
}

fn fields(method: &str, more: &[(&str, &str)]) -> Vec<u8> {
    let own =
        [(":method", method), (":scheme", "http"), (":path", "/"), (":authority", "api.internal")];
    own.iter().chain(more).flat_map(|(name, value)| field(name, value)).collect()
}

fn opening() -> Vec<u8> {
    [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat()
}

/// One POST with these further fields, and a body.
pub(crate) fn post(more: &[(&str, &str)], body: &str) -> Vec<u8> {
    let head = frame(HEADERS, END_HEADERS, 1, &fields("POST", more));
    [opening(), head, frame(DATA, END_STREAM, 1, body.as_bytes())].concat()
}

/// So many streams that are opened and reset at once.
pub(crate) fn rapid_reset(streams: u32) -> Vec<u8> {
    let head = fields("GET", &[]);
    let one = |n: u32| {
        let stream = 2 * n + 1;
        let reset = frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes());
        [frame(HEADERS, END_STREAM | END_HEADERS, stream, &head), reset].concat()
    };
    [opening(), (0..streams).flat_map(one).collect()].concat()
}

/// A head that goes on in so many frames, and never ends.
pub(crate) fn continuations(frames: u32) -> Vec<u8> {
    let more: Vec<u8> = (0..20).flat_map(|_| field("x-more", &"x".repeat(100))).collect();
    let head = frame(HEADERS, END_STREAM, 1, &fields("GET", &[]));
    let rest = (0..frames).flat_map(|_| frame(CONTINUATION, 0, 1, &more)).collect();
    [opening(), head, rest].concat()
}

/// One POST whose trailers come in so many frames of 2 KiB.
pub(crate) fn trailers(frames: u32) -> Vec<u8> {
    let more: Vec<u8> = (0..20).flat_map(|_| field("x-more", &"x".repeat(100))).collect();
    let head = frame(HEADERS, END_HEADERS, 1, &fields("POST", &[]));
    let begun = [frame(DATA, 0, 1, b"ok"), frame(HEADERS, END_STREAM, 1, &more)].concat();
    let rest = (0..frames).flat_map(|_| frame(CONTINUATION, 0, 1, &more)).collect();
    [opening(), head, begun, rest, frame(CONTINUATION, END_HEADERS, 1, &more)].concat()
}

/// A head with a field that goes into the table (RFC 7541 section 6.2.1), and so many references to it.
pub(crate) fn references(count: usize) -> Vec<u8> {
    const FIRST_OF_TABLE: u8 = 0x80 | 62;
    let mut head = fields("GET", &[]);
    head.extend([0x40, 1, b'x', 100]);
    head.extend([b'a'; 100]);
    head.extend(vec![FIRST_OF_TABLE; count]);
    [opening(), frame(HEADERS, END_STREAM | END_HEADERS, 1, &head)].concat()
}

/// The first frame of a reply that says how a stream or the connection ends.
pub(crate) fn answer(mut reply: &[u8]) -> String {
    while let [a, b, c, kind, flags, _, _, _, _, rest @ ..] = reply {
        let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
        let Some((payload, next)) = rest.split_at_checked(length) else { break };
        let error = |at: usize| {
            let code = payload.get(at..at + 4).and_then(|code| code.try_into().ok());
            let code = code.map_or(usize::MAX, |code| u32::from_be_bytes(code) as usize);
            ERRORS.get(code).copied().unwrap_or("an unknown error")
        };
        match *kind {
            RST_STREAM => return format!("stream reset: {}", error(0)),
            GOAWAY => return format!("connection ended: {}", error(4)),
            // The status is the first field; 0x88 is the index of 200, all others are literal or other indices.
            HEADERS if payload.first() == Some(&0x88) => return "200".to_owned(),
            HEADERS if payload.first() == Some(&0x8c) => return "400".to_owned(),
            HEADERS => return format!("a head {flags} {payload:?}"),
            _ => {}
        }
        reply = next;
    }
    "closed".to_owned()
}
