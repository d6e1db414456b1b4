//! One request over a connection of its own, and its answer as text.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Reply {
    /// The value of a header field.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let fields = self.head.lines().filter_map(|line| line.split_once(": "));
        fields.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }
}

pub(crate) async fn get(address: SocketAddr, path: &str, fields: &[&str]) -> Reply {
    exchange(address, &format!("GET {path} HTTP/1.1"), fields, "").await
}

/// A form, sent as our own page would.
pub(crate) async fn post(address: SocketAddr, path: &str, fields: &[&str], form: &str) -> Reply {
    let origin = format!("origin: http://{address}");
    let fields = [fields, &[origin.as_str()]].concat();
    post_from(address, path, &fields, form).await
}

/// A form from wherever `fields` say.
pub(crate) async fn post_from(
    address: SocketAddr,
    path: &str,
    fields: &[&str],
    form: &str,
) -> Reply {
    let length = format!("content-length: {}", form.len());
    let kind = "content-type: application/x-www-form-urlencoded";
    let fields = [fields, &[length.as_str(), kind]].concat();
    exchange(address, &format!("POST {path} HTTP/1.1"), &fields, form).await
}

async fn exchange(address: SocketAddr, line: &str, fields: &[&str], body: &str) -> Reply {
    let host = format!("host: {address}");
    let has_host = fields.iter().any(|field| field.starts_with("host:"));
    let mut head = vec![line, "connection: close"];
    head.extend(if has_host { None } else { Some(host.as_str()) });
    head.extend(fields);
    let request = format!("{}\r\n\r\n{body}", head.join("\r\n"));
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).await.unwrap();
    let reply = String::from_utf8(reply).unwrap();
    let (head, body) = reply.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Reply { status, head: head.into(), body: body.into() }
}
