//! Whether a request was caused by our own page.

use http::header::{HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, Method};

/// The header with which browsers tell the origin of a request (Fetch Metadata, W3C).
const SITE: &str = "sec-fetch-site";

/// Whether a request may change something: it reads only, or our own page has sent it.
///
/// Browsers name the origin of every POST, and over TLS or to this machine its site too. A request
/// that names neither comes from no browser that is young enough; programs have the API.
pub(super) fn is_own(method: &Method, headers: &HeaderMap) -> bool {
    if matches!(*method, Method::GET | Method::HEAD) {
        return true;
    }
    match (text(headers, SITE), text(headers, ORIGIN.as_str())) {
        (Some(site), _) => matches!(site, "same-origin" | "none"),
        (None, Some(origin)) => is_origin_of_host(origin, headers),
        (None, None) => false,
    }
}

/// Whether the host name of the request is one of this machine: another name that resolves to this
/// machine gets nothing (DNS rebinding).
pub(super) fn is_local(headers: &HeaderMap) -> bool {
    let host = text(headers, HOST.as_str()).and_then(|host| host.parse::<Authority>().ok());
    host.is_some_and(|host| match host.host().trim_matches(['[', ']']).parse() {
        Ok(address) => std::net::IpAddr::is_loopback(&address),
        Err(_) => host.host().eq_ignore_ascii_case("localhost"),
    })
}

fn is_origin_of_host(origin: &str, headers: &HeaderMap) -> bool {
    let authority = origin.split_once("://").map(|(_, authority)| authority);
    authority.is_some() && authority == text(headers, HOST.as_str())
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn a_post_from_a_foreign_page_is_not_our_own() {
        let own = |pairs: &[(&'static str, &str)]| is_own(&Method::POST, &headers(pairs));
        assert!(own(&[("sec-fetch-site", "same-origin")]));
        assert!(own(&[("origin", "http://a.example:8080"), ("host", "a.example:8080")]));
        assert!(!own(&[("sec-fetch-site", "cross-site"), ("origin", "http://b"), ("host", "b")]));
        assert!(!own(&[("sec-fetch-site", "same-site")]));
        assert!(!own(&[("origin", "http://a.example:9090"), ("host", "a.example:8080")]));
        assert!(!own(&[("origin", "null"), ("host", "a.example")]));
        assert!(!own(&[("host", "a.example")]));
        assert!(is_own(&Method::GET, &headers(&[("sec-fetch-site", "cross-site")])));
    }

    #[test]
    fn foreign_names_of_this_machine_are_not_local() {
        for host in ["localhost", "LOCALHOST:8080", "127.0.0.1:80", "127.9.9.9", "[::1]:8080"] {
            assert!(is_local(&headers(&[("host", host)])), "{host}");
        }
        for host in ["rebound.example:8080", "localhost.example", "10.0.0.1", "0.0.0.0", "[::2]"] {
            assert!(!is_local(&headers(&[("host", host)])), "{host}");
        }
        assert!(!is_local(&HeaderMap::new()));
    }
}
