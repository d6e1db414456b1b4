//! The table.

use crate::frames;

/// One input.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// The input in words, for the page.
    words: &'static str,
    pub(crate) bytes: fn() -> Vec<u8>,
    /// The requests that arrive: method, path and body.
    pub(crate) upstream: &'static str,
    /// The status, or the end of the connection.
    pub(crate) client: &'static str,
}

impl Case {
    /// The row of the page.
    pub(crate) fn row(&self) -> String {
        let Self { name, words, upstream, client, .. } = self;
        let upstream =
            if *upstream == "nothing" { (*upstream).to_owned() } else { format!("`{upstream}`") };
        format!("| {name} | {words} | {upstream} | {client} |")
    }
}

/// A request to the route with these lines after the host, as it is sent.
fn request(method: &str, lines: &str, body: &str) -> Vec<u8> {
    let line =
        if method.contains(' ') { method.to_owned() } else { format!("{method} / HTTP/1.1") };
    format!("{line}\r\nhost: api.internal\r\nconnection: close\r\n{lines}\r\n{body}").into_bytes()
}

macro_rules! cases {
    ($($name:literal, $words:literal, $bytes:expr => $upstream:literal, $client:literal;)*) => {
        [$(Case {
            name: $name,
            words: $words,
            bytes: || -> Vec<u8> { $bytes.into() },
            upstream: $upstream,
            client: $client,
        }),*]
    };
}

/// All cases, one after the other.
pub(crate) const CASES: [Case; 43] = cases! {
    "CL.TE", "`Content-Length: 6` and `Transfer-Encoding: chunked`, `GET /smuggled` behind the last chunk; chunked holds, and the length is not passed on",
        request("POST", "content-length: 6\r\ntransfer-encoding: chunked\r\n", "0\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: api.internal\r\n\r\n")
        => "POST /", "200";
    "TE.CL", "`Transfer-Encoding: chunked` and `Content-Length: 4`, a request line in a chunk; it stays a body",
        request("POST", "transfer-encoding: chunked\r\ncontent-length: 4\r\n", "d\r\nGET /smuggled\r\n0\r\n\r\n")
        => "POST / GET /smuggled", "200";
    "TE.TE", "two codings: `Transfer-Encoding: chunked` and `identity`",
        request("POST", "transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n", "0\r\n\r\n")
        => "nothing", "400";
    "unknown coding", "`Transfer-Encoding: xchunked`",
        request("POST", "transfer-encoding: xchunked\r\n", "0\r\n\r\n")
        => "nothing", "400";
    "space before the colon", "`Transfer-Encoding : chunked`",
        request("POST", "transfer-encoding : chunked\r\n", "0\r\n\r\n")
        => "nothing", "400";
    "chunked in HTTP/1.0", "`POST / HTTP/1.0` with `Transfer-Encoding: chunked`",
        request("POST / HTTP/1.0", "transfer-encoding: chunked\r\n", "0\r\n\r\n")
        => "nothing", "400";
    "two lengths", "`Content-Length: 5` and `Content-Length: 6`",
        request("POST", "content-length: 5\r\ncontent-length: 6\r\n", "hello!")
        => "nothing", "400";
    "list of lengths", "`Content-Length: 5, 6`",
        request("POST", "content-length: 5, 6\r\n", "hello!")
        => "nothing", "400";
    "signed length", "`Content-Length: +5`",
        request("POST", "content-length: +5\r\n", "hello")
        => "nothing", "400";
    "hexadecimal length", "`Content-Length: 0x5`",
        request("POST", "content-length: 0x5\r\n", "hello")
        => "nothing", "400";
    "length past 64 bits", "`Content-Length: 99999999999999999999`",
        request("POST", "content-length: 99999999999999999999\r\n", "hello")
        => "nothing", "400";
    "huge chunk", "a chunk of 2^64 bytes",
        request("POST", "transfer-encoding: chunked\r\n", "10000000000000000\r\nx")
        => "nothing", "400";
    "chunk size ends with LF", "`5` LF `hello` CR LF",
        request("POST", "transfer-encoding: chunked\r\n", "5\nhello\r\n0\r\n\r\n")
        => "nothing", "400";
    "folded line", "`X: a` CR LF, a space and `b` (obs-fold)",
        request("GET", "x: a\r\n b\r\n", "")
        => "nothing", "400";
    "bare LF", "lines that end with LF alone; passed on with CR LF",
        "GET / HTTP/1.1\nhost: api.internal\nconnection: close\n\n"
        => "GET /", "200";
    "bare CR", "a CR inside of a value",
        request("GET", "x: a\rtransfer-encoding: chunked\r\n", "")
        => "nothing", "400";
    "NUL", "a NUL inside of a value",
        request("GET", "x: a\0b\r\n", "")
        => "nothing", "400";
    "no version", "`GET /` alone (HTTP/0.9)",
        "GET /\r\n\r\n"
        => "nothing", "400";
    "unknown version", "`GET / HTTP/1.2`",
        request("GET / HTTP/1.2", "", "")
        => "nothing", "400";
    "two spaces", "`GET  / HTTP/1.1`",
        request("GET  / HTTP/1.1", "", "")
        => "nothing", "400";
    "many fields", "200 fields",
        request("GET", &"x: 1\r\n".repeat(200), "")
        => "nothing", "431";
    "large head", "9 KiB of a field where `head_size` is 8 KiB",
        request("GET", &format!("x: {}\r\n", "a".repeat(9 << 10)), "")
        => "nothing", "431";
    "huge request line", "a path of 100 KiB",
        request(&format!("GET /{} HTTP/1.1", "a".repeat(100 << 10)), "", "")
        => "nothing", "431";
    "large trailers", "20 KiB of a field behind the last chunk; the body is cut off before its end",
        request("POST", "transfer-encoding: chunked\r\n", &format!("2\r\nok\r\n0\r\nx: {}\r\n\r\n", "a".repeat(20 << 10)))
        => "POST / ok", "400";
    "many trailers", "200 fields behind the last chunk; the body is cut off before its end",
        request("POST", "transfer-encoding: chunked\r\n", &format!("2\r\nok\r\n0\r\n{}\r\n", "x: 1\r\n".repeat(200)))
        => "POST / ok", "400";
    "slowloris", "half a head, then silence for `head_timeout`",
        "GET / HTTP/1.1\r\nhost: api.in"
        => "nothing", "closed";
    "silence", "not a byte for `head_timeout`",
        ""
        => "nothing", "closed";
    "slow body", "4 of 10 bytes, then silence for `stall_timeout`",
        request("PUT", "content-length: 10\r\n", "half")
        => "PUT / half", "closed";
    "silent WebSocket", "an upgrade to `websocket` that the upstream grants, then silence for `tunnel_idle_timeout`",
        "GET /socket HTTP/1.1\r\nhost: api.internal\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"
        => "GET /socket", "101, then closed";
    "no host", "`GET / HTTP/1.1` without `Host`",
        "GET / HTTP/1.1\r\nconnection: close\r\n\r\n"
        => "nothing", "400";
    "two hosts", "`Host: api.internal` twice",
        request("GET", "host: api.internal\r\n", "")
        => "nothing", "400";
    "host mismatch", "`GET http://api.internal/` with `Host: other`; the URI decides (RFC 9112), and the upstream gets its own host",
        "GET http://api.internal/ HTTP/1.1\r\nhost: other\r\nconnection: close\r\n\r\n"
        => "GET /", "200";
    "user in the host", "`Host: me@api.internal`",
        "GET / HTTP/1.1\r\nhost: me@api.internal\r\nconnection: close\r\n\r\n"
        => "nothing", "400";
    "foreign URI", "`GET http://evil.example/`, which no route names",
        "GET http://evil.example/ HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n"
        => "nothing", "421";
    "foreign host", "`Host: evil.example`, which no route names",
        "GET / HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n"
        => "nothing", "404";
    "mail by CONNECT", "`CONNECT mail.example:25`",
        "CONNECT mail.example:25 HTTP/1.1\r\nhost: mail.example:25\r\n\r\n"
        => "nothing", "403";
    "dot segments", "`GET /a/%2e%2e/admin`",
        request("GET /a/%2e%2e/admin HTTP/1.1", "", "")
        => "nothing", "400";
    "coding in HTTP/2", "`transfer-encoding: chunked` in a stream",
        frames::post(&[("transfer-encoding", "chunked")], "0\r\n\r\n")
        => "nothing", "stream reset: protocol error";
    "length in HTTP/2", "`content-length: 2` and 5 bytes in a stream",
        frames::post(&[("content-length", "2")], "hello")
        => "nothing", "stream reset: protocol error";
    "large trailers in HTTP/2", "45 KiB of fields behind the body of a stream",
        frames::trailers(20)
        => "nothing", "connection ended: enhance your calm";
    "HPACK bomb", "a field of 100 bytes in the table, and 2000 references to it",
        frames::references(2_000)
        => "nothing", "connection ended: enhance your calm";
    "rapid reset", "5000 streams that are opened and reset at once (CVE-2023-44487)",
        frames::rapid_reset(5_000)
        => "nothing", "connection ended: enhance your calm";
    "CONTINUATION flood", "a head that never ends in frames of 2 KiB (CVE-2024-27316)",
        frames::continuations(2_000)
        => "nothing", "connection ended: enhance your calm";
};
