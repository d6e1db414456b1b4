//! The address of an endpoint: its URL, parsed once, by the parser whose result is dialled.

use std::net::IpAddr;
use std::sync::Arc;

use http::uri::PathAndQuery;
use http::{HeaderValue, Uri};
use rustls::pki_types::ServerName;
use stagger::ConfigError;
use url::{Host as UrlHost, Position, Url};

use crate::guard::EgressGuard;

/// Longest URL, in bytes: all common servers accept it in a request line.
const MAX_URL: usize = 2048;
/// Ports that are open by default: those of the web.
const DEFAULT_PORTS: [u16; 3] = [80, 443, 8443];

/// An endpoint's URL in the parts that an attempt needs.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    /// The host to connect to, a name or an IP address.
    pub(crate) host: Host,
    pub(crate) port: u16,
    /// The name that the certificate must have; `None` without TLS.
    pub(crate) tls_name: Option<ServerName<'static>>,
    /// Scheme, host and port: the key by which connections are shared.
    pub(crate) origin: Arc<str>,
    /// The `Host` header.
    pub(crate) host_header: HeaderValue,
    /// Path and query.
    pub(crate) target: Uri,
}

/// A host as its URL names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    /// To be resolved for each connection.
    Name(Arc<str>),
    /// Whatever its notation was.
    Literal(IpAddr),
}

/// The ports that may be reached.
#[derive(Clone, Debug)]
pub(crate) enum Ports {
    Any,
    Only(Vec<u16>),
}

impl Address {
    /// Parses `text` and checks everything except the addresses of a name: scheme, user info,
    /// fragment, host, port, and a literal address in any notation, after parsing.
    ///
    /// # Errors
    /// `endpoint.url` with the bound it breaks.
    pub(crate) fn parse(
        text: &str,
        guard: EgressGuard,
        ports: &Ports,
    ) -> Result<Self, ConfigError> {
        let address = Self::read(text, ports)?;
        if let Host::Literal(ip) = address.host {
            guard.judge(ip).map_err(|refusal| wrong(text, &format!("a public one: {refusal}")))?;
        }
        Ok(address)
    }

    /// The same without judging a literal address.
    ///
    /// # Errors
    /// `endpoint.url` with the bound it breaks.
    pub(crate) fn read(text: &str, ports: &Ports) -> Result<Self, ConfigError> {
        if text.len() > MAX_URL {
            let first: String = text.chars().take(80).collect();
            return Err(wrong(&first, "of at most 2048 bytes"));
        }
        let url = Url::parse(text).map_err(|error| wrong(text, &format!("a URL: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong(text, "an http or https address"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("(not shown)", "without user and password: use a header"));
        }
        if url.fragment().is_some() {
            return Err(wrong(text, "without a fragment, which is never sent"));
        }
        let port = url.port_or_known_default().unwrap_or_default();
        if !ports.allow(port) {
            return Err(wrong(text, &format!("on one of the ports {ports}")));
        }
        Self::of(&url, port).ok_or_else(|| wrong(text, "a host and a path that can be sent"))
    }

    /// The address of a broker, whose scheme is one of `schemes`: each with whether it asks for TLS. The port is one of
    /// `ports`, by default the first of `usual`.
    ///
    /// # Errors
    /// `url` with the bound it breaks.
    pub(crate) fn of_broker(
        text: &str,
        schemes: &[(&str, bool)],
        (ports, usual): (&Ports, &[u16]),
    ) -> Result<Self, ConfigError> {
        let named: Vec<_> = schemes.iter().map(|(scheme, _)| format!("{scheme}://")).collect();
        let bound = format!("an address that begins with {}", named.join(" or "));
        let known = Url::parse(text).map_err(|error| wrong(text, &format!("a URL: {error}")))?;
        let scheme = schemes.iter().find(|(scheme, _)| known.scheme() == *scheme);
        let (scheme, is_tls) = *scheme.ok_or_else(|| wrong(text, &bound))?;
        if !known.username().is_empty() || known.password().is_some() {
            return Err(wrong("(not shown)", "without user and password: use auth"));
        }
        if known.query().is_some()
            || known.fragment().is_some()
            || !matches!(known.path(), "" | "/")
        {
            return Err(wrong(text, "without path, query and fragment"));
        }
        // Read as a web address, so that a host in any notation of an IP address is known as one.
        let web = if is_tls { "https" } else { "http" };
        let rest = known.as_str().get(scheme.len()..).unwrap_or_default();
        let url = Url::parse(&format!("{web}{rest}"))
            .map_err(|error| wrong(text, &format!("a URL: {error}")))?;
        let port = known.port().or(usual.first().copied()).unwrap_or_default();
        if !(ports.allow(port) || ports.is_default() && usual.contains(&port)) {
            return Err(wrong(text, &format!("on one of the ports {ports}, or {usual:?}")));
        }
        let address =
            Self::of(&url, port).ok_or_else(|| wrong(text, "a host that can be reached"))?;
        let host = url.host_str().unwrap_or_default();
        Ok(Self { origin: format!("{scheme}://{host}:{port}").into(), ..address })
    }

    fn of(url: &Url, port: u16) -> Option<Self> {
        let host = match url.host()? {
            UrlHost::Domain(name) => Host::Name(name.into()),
            UrlHost::Ipv4(ip) => Host::Literal(ip.into()),
            UrlHost::Ipv6(ip) => Host::Literal(ip.into()),
        };
        let tls_name = match (url.scheme(), &host) {
            ("https", Host::Literal(ip)) => Some(ServerName::from(ip.to_canonical())),
            // A certificate names hosts without the root's full stop (RFC 6066 section 3).
            ("https", Host::Name(name)) => {
                Some(ServerName::try_from(name.trim_end_matches('.').to_owned()).ok()?)
            }
            _ => None,
        };
        let authority = &url[Position::BeforeHost..Position::AfterPort];
        let target: PathAndQuery = url[Position::BeforePath..Position::AfterQuery].parse().ok()?;
        Some(Self {
            host,
            port,
            tls_name,
            origin: url[..Position::AfterPort].into(),
            host_header: HeaderValue::from_str(authority).ok()?,
            target: target.into(),
        })
    }
}

impl Ports {
    /// The named ports, or else those of the web; all of them on a private network.
    pub(crate) fn new(named: &[u16], allow_private: bool) -> Self {
        match named {
            [] if allow_private => Self::Any,
            [] => Self::Only(DEFAULT_PORTS.to_vec()),
            named => Self::Only(named.to_vec()),
        }
    }

    /// Whether no ports were named, and those of the web are open.
    fn is_default(&self) -> bool {
        matches!(self, Self::Only(ports) if *ports == DEFAULT_PORTS)
    }

    fn allow(&self, port: u16) -> bool {
        match self {
            Self::Any => port != 0,
            Self::Only(ports) => port != 0 && ports.contains(&port),
        }
    }
}

impl std::fmt::Display for Ports {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Any => f.write_str("1 to 65535"),
            Self::Only(ports) => {
                let ports: Vec<_> = ports.iter().map(u16::to_string).collect();
                f.write_str(&ports.join(", "))
            }
        }
    }
}

fn wrong(value: &str, bound: &str) -> ConfigError {
    ConfigError::new("endpoint.url", value.escape_debug(), bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Address, ConfigError> {
        Address::parse(text, EgressGuard::new(false), &Ports::new(&[], false))
    }

    #[test]
    fn an_address_is_judged_whatever_its_notation() {
        let hosts = [
            "127.0.0.1",
            "127.1",
            "2130706433",
            "0x7f000001",
            "0x7f.1",
            "0177.0.0.1",
            "127.0.0.1.",
            "%31%32%37.0.0.1",
            "１２７.０.０.１",
            "127。0。0。1",
            "①②⑦.0.0.1",
            "169.254.169.254",
            "2852039166",
            "0xa9fea9fe",
            "0251.0376.0251.0376",
            "0",
            "[::]",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:a9fe:a9fe]",
            "[::127.0.0.1]",
            "[64:ff9b::a9fe:a9fe]",
            "[2002:7f00:1::]",
            "[fd00:ec2::254]",
            "[fe80::1]",
        ];
        for host in hosts {
            for scheme in ["http", "https"] {
                let error = parse(&format!("{scheme}://{host}/")).expect_err(host).to_string();
                assert!(error.contains("not globally routable"), "{error}");
            }
        }
    }

    #[test]
    fn an_address_that_is_no_receiver_is_refused_when_saved() {
        let texts = [
            "",
            "example.com",
            "/hook",
            "ftp://example.com/",
            "file:///etc/passwd",
            "unix:/run/docker.sock",
            "gopher://example.com/",
            "http://",
            "http:///",
            "https://user@example.com/",
            "https://:secret@example.com/",
            "https://example.com/#top",
            "https://example.com:22/",
            "https://example.com:0/",
            "https://example.com:65536/",
            "http://[fe80::1%25eth0]/",
            "http://1.2.3.4.5.6/",
            "http://256.1.1.1/",
            "http://exa mple.com/",
            "http://a..b\u{0}/",
        ];
        for text in texts {
            assert!(parse(text).is_err(), "{text}");
        }
        let secret = parse("https://user:hunter2@example.com/").expect_err("user info").to_string();
        assert!(!secret.contains("hunter2"));
    }

    #[test]
    fn the_parts_are_those_of_the_url() {
        let address = parse("https://Example.COM:8443/a%20b/?q=1&r").expect("a good one");
        assert_eq!(address.host, Host::Name("example.com".into()));
        assert_eq!((address.port, &*address.origin), (8443, "https://example.com:8443"));
        assert_eq!(address.host_header, "example.com:8443");
        assert_eq!(address.target, "/a%20b/?q=1&r");
        let plain = parse("http://example.com").expect("a good one");
        assert_eq!((plain.port, &*plain.origin), (80, "http://example.com"));
        assert_eq!((&plain.target.to_string()[..], plain.tls_name), ("/", None));
        let v6 = parse("https://[2606:4700:4700::1111]/").expect("a good one");
        assert_eq!(v6.host_header, "[2606:4700:4700::1111]");
    }

    #[test]
    fn a_name_of_another_script_becomes_what_is_asked_for() {
        let address = parse("https://bücher.example/").expect("a good one");
        assert_eq!(address.host, Host::Name("xn--bcher-kva.example".into()));
        assert_eq!(address.host_header, "xn--bcher-kva.example");
    }

    #[test]
    fn a_full_stop_at_the_end_is_no_other_name_for_the_certificate() {
        let address = parse("https://example.com./").expect("a good one");
        assert_eq!(address.tls_name, ServerName::try_from("example.com").ok());
    }

    #[test]
    fn ports_are_those_that_were_named() {
        let with = |named: &[u16], private, text: &str| {
            Address::parse(text, EgressGuard::new(private), &Ports::new(named, private)).is_ok()
        };
        assert!(with(&[], true, "http://127.0.0.1:1/"));
        assert!(!with(&[], true, "http://127.0.0.1:0/"));
        assert!(with(&[9000], false, "http://example.com:9000/"));
        assert!(!with(&[9000], false, "http://example.com/"));
        assert!(!with(&[9000], true, "http://127.0.0.1:9001/"));
    }
}
