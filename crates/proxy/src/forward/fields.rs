//! Fields of one connection, which do not travel on (RFC 9110 section 7.6), and those that a proxy adds.

use std::net::{IpAddr, SocketAddr};

use http::header::{
    CONNECTION, FORWARDED, HOST, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING,
    UPGRADE, VIA,
};
use http::{HeaderMap, HeaderName, HeaderValue, Version};

/// Fields that are about one connection, besides those that `Connection` names.
const HOP_BY_HOP: [HeaderName; 8] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
];

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Removes the fields of one connection. `TE: trailers` stays where the sender wants trailers.
pub(super) fn strip_hop_by_hop(headers: &mut HeaderMap) {
    let named = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let names = named.flat_map(|value| value.split(','));
    let names: Vec<HeaderName> =
        names.filter_map(|name| HeaderName::from_bytes(name.trim().as_bytes()).ok()).collect();
    let trailers = takes_trailers(headers);
    for name in names.iter().chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
    if trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
    }
}

fn takes_trailers(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(TE).iter().filter_map(|value| value.to_str().ok());
    lines
        .flat_map(|value| value.split(','))
        .any(|coding| coding.trim().eq_ignore_ascii_case("trailers"))
}

/// The protocol that a request wants to switch to, if it does.
pub(super) fn asked_upgrade(headers: &HeaderMap, version: Version) -> Option<HeaderValue> {
    if version != Version::HTTP_11 {
        return None;
    }
    let lines = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let mut named = lines.flat_map(|value| value.split(','));
    let asked = named.any(|name| name.trim().eq_ignore_ascii_case("upgrade"));
    // A client that offers h2c is answered in HTTP/1.1, as RFC 9113 section 3.1 has it.
    let protocol =
        headers.get(UPGRADE).filter(|value| !value.as_bytes().eq_ignore_ascii_case(b"h2c"));
    protocol.filter(|_| asked).cloned()
}

/// Asks for, or confirms, another protocol on this connection.
pub(super) fn set_upgrade(headers: &mut HeaderMap, protocol: HeaderValue) {
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, protocol);
}

/// Adds the proxy to the chain of those that a message came through.
pub(super) fn add_via(headers: &mut HeaderMap, version: Version) {
    let own = match version {
        Version::HTTP_2 => "2 stagger",
        Version::HTTP_10 => "1.0 stagger",
        _ => "1.1 stagger",
    };
    headers.append(VIA, HeaderValue::from_static(own));
}

/// Tells the upstream whom the request is for, in place of what the caller said of itself.
pub(super) fn set_forwarded(headers: &mut HeaderMap, from: SocketAddr) {
    let host = headers.get(HOST).cloned();
    let by_host = host.as_ref().and_then(|host| host.to_str().ok());
    let node = match from.ip().to_canonical() {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("\"[{ip}]\""),
    };
    let forwarded = match by_host {
        Some(host) => format!("for={node};host=\"{host}\";proto=http"),
        None => format!("for={node};proto=http"),
    };
    let values = [
        (FORWARDED, HeaderValue::try_from(forwarded).ok()),
        (FORWARDED_FOR, HeaderValue::try_from(from.ip().to_canonical().to_string()).ok()),
        (FORWARDED_HOST, host),
        (FORWARDED_PROTO, Some(HeaderValue::from_static("http"))),
    ];
    for (name, value) in values {
        match value {
            Some(value) => headers.insert(name, value),
            None => headers.remove(name),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let line = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        let mut headers = HeaderMap::new();
        for (name, value) in lines.iter().map(line) {
            headers.append(name, value);
        }
        headers
    }

    #[test]
    fn a_field_that_connection_names_travelled_on() {
        let mut sent = headers(&[
            ("connection", "close, X-Secret"),
            ("connection", "keep-alive"),
            ("x-secret", "1"),
            ("keep-alive", "timeout=5"),
            ("te", "gzip, trailers"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "h2c"),
            ("accept", "*/*"),
        ]);
        strip_hop_by_hop(&mut sent);
        assert_eq!(sent, headers(&[("accept", "*/*"), ("te", "trailers")]));
    }

    #[test]
    fn only_http_1_1_switches_protocols() {
        let asked = headers(&[("connection", "keep-alive, Upgrade"), ("upgrade", "websocket")]);
        assert_eq!(asked_upgrade(&asked, Version::HTTP_11).as_ref(), asked.get("upgrade"));
        assert_eq!(asked_upgrade(&asked, Version::HTTP_10), None);
        let h2c = headers(&[("connection", "upgrade"), ("upgrade", "h2c")]);
        assert_eq!(asked_upgrade(&h2c, Version::HTTP_11), None);
        assert_eq!(asked_upgrade(&headers(&[("upgrade", "websocket")]), Version::HTTP_11), None);
    }

    #[test]
    fn a_caller_forged_where_it_comes_from() {
        let mut sent =
            headers(&[("x-forwarded-for", "10.9.9.9"), ("host", "api"), ("forwarded", "for=x")]);
        set_forwarded(&mut sent, "[::ffff:127.0.0.1]:9".parse().expect("an address"));
        assert_eq!(sent["x-forwarded-for"], "127.0.0.1");
        assert_eq!(sent["forwarded"], "for=127.0.0.1;host=\"api\";proto=http");
        set_forwarded(&mut sent, "[::1]:9".parse().expect("an address"));
        assert_eq!(sent["forwarded"], "for=\"[::1]\";host=\"api\";proto=http");
    }
}
