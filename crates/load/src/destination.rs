//! The destination of a run: this machine, or exactly the host that was named.

use std::net::{IpAddr, SocketAddr};

use http::Uri;
use http::uri::Scheme;
use stagger::{Sleep, TokioTime};
use stagger_core::Span;
use tokio::net::{TcpStream, lookup_host};

use crate::error::LoadError;

/// A URL that may be called: of this machine, or of the host that the user named.
///
/// Without a name only a loopback address and `localhost` may be called. Names of other hosts are refused before they
/// are looked up, whatever they resolve to.
///
/// ```
/// use stagger_load::LoadUrl;
/// assert!(LoadUrl::parse("http://127.0.0.1:8080/orders?x=1", None).is_ok());
/// assert!(LoadUrl::parse("http://[::1]:8080/", None).is_ok());
/// assert!(LoadUrl::parse("http://localhost.evil.example/", None).is_err());
/// assert!(LoadUrl::parse("http://test.example/", Some("test.example")).is_ok());
/// assert!(LoadUrl::parse("http://test.example/", Some("example")).is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadUrl {
    /// The host as the URL has it, without brackets.
    host: String,
    port: u16,
    /// The value of the `Host` header.
    authority: String,
    path: String,
    /// Whether every address must be one of this machine.
    only_loopback: bool,
}

/// A [`LoadUrl`] with the one address that all connections go to, whatever its name means later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadTarget {
    pub(crate) address: SocketAddr,
    pub(crate) authority: String,
    pub(crate) path: String,
}

const HTTP_PORT: u16 = 80;

impl LoadUrl {
    /// Reads a URL; `named` is the one host other than this machine that may be called.
    ///
    /// # Errors
    /// A URL that is not plain HTTP, or a host that may not be called.
    pub fn parse(url: &str, named: Option<&str>) -> Result<Self, LoadError> {
        let wrong = |must: &str| LoadError::url(format!("the URL '{url}' must {must}"));
        let uri: Uri = url.parse().map_err(|error| wrong(&format!("be valid: {error}")))?;
        if uri.scheme() != Some(&Scheme::HTTP) {
            return Err(wrong("begin with http://; TLS is not spoken"));
        }
        let authority = uri.authority().ok_or_else(|| wrong("name a host"))?;
        if authority.as_str().contains('@') {
            return Err(wrong("have no user name"));
        }
        let text = authority.host();
        let host = text.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(text);
        let rest = authority.as_str().strip_prefix(text).unwrap_or_default();
        let port = match rest.strip_prefix(':') {
            Some(port) => port.parse().ok().filter(|&port| port > 0),
            None => Some(HTTP_PORT),
        };
        let port = port.ok_or_else(|| wrong("have a port from 1 to 65535"))?;
        let only_loopback = !named.is_some_and(|named| named.eq_ignore_ascii_case(host));
        if only_loopback && !is_this_machine(host) {
            return Err(refused(host, named));
        }
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let authority = authority.as_str().to_owned();
        Ok(Self { host: host.to_owned(), port, authority, path, only_loopback })
    }

    /// Whether the destination is this machine, and was not named otherwise.
    #[must_use]
    pub const fn is_this_machine(&self) -> bool {
        self.only_loopback
    }

    /// Looks the host up, once. Of several addresses it takes the first that accepts a connection.
    ///
    /// # Errors
    /// A name without an address, or `localhost` with one of another machine.
    pub async fn resolve(self) -> Result<LoadTarget, LoadError> {
        let found = lookup_host((self.host.as_str(), self.port)).await;
        let found = found.map_err(|error| {
            LoadError::system(format!("the host '{}' cannot be looked up: {error}", self.host))
        })?;
        let addresses: Vec<SocketAddr> = found.collect();
        let mut target = self.pinned(&addresses)?;
        target.address = reached(&addresses).await.unwrap_or(target.address);
        Ok(target)
    }

    /// The destination at the first of these addresses, all of which may be called.
    fn pinned(self, addresses: &[SocketAddr]) -> Result<LoadTarget, LoadError> {
        let Self { host, authority, path, only_loopback, .. } = self;
        let other = addresses.iter().find(|address| !is_loopback(address.ip()));
        if let Some(other) = other.filter(|_| only_loopback) {
            let ip = other.ip();
            return Err(LoadError::host(format!(
                "the host '{host}' is also {ip}, which is not this machine: name an address of 127.0.0.0/8 or ::1"
            )));
        }
        match addresses.first() {
            Some(&address) => Ok(LoadTarget { address, authority, path }),
            None => Err(LoadError::system(format!("the host '{host}' has no address"))),
        }
    }
}

impl LoadTarget {
    /// The address that all connections go to.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

/// The time for which one of several addresses is tried.
const REACHED_WITHIN: Span = Span::from_secs(2);

/// The first address that accepts a connection, where there are several: a server often listens on one of those
/// of `localhost` alone.
async fn reached(addresses: &[SocketAddr]) -> Option<SocketAddr> {
    let several = if addresses.len() > 1 { addresses } else { &[] };
    for &address in several {
        tokio::select! {
            connected = TcpStream::connect(address) => if connected.is_ok() { return Some(address) },
            () = TokioTime.sleep(REACHED_WITHIN) => {}
        }
    }
    None
}

/// Whether this is `localhost` or an address of the loopback network, as text.
fn is_this_machine(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || host.parse().is_ok_and(is_loopback)
}

/// An IPv4 address within IPv6 is judged as what it reaches.
fn is_loopback(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback()
}

fn refused(host: &str, named: Option<&str>) -> LoadError {
    let named = named.map(|named| format!(", and --yes-really names '{named}'"));
    LoadError::host(format!(
        "the host '{host}' is not this machine{}: a storm against a server that is not yours is an attack; if it is \
         yours, say --yes-really {host}",
        named.unwrap_or_default()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<LoadUrl, LoadError> {
        LoadUrl::parse(url, None)
    }

    #[test]
    fn a_host_that_looks_like_this_machine_was_called() {
        for url in [
            "http://localhost.evil.example/",
            "http://127.0.0.1.evil.example/",
            "http://evil.example/127.0.0.1",
            "http://localhost./",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://0.0.0.0/",
            "http://[::]/",
            "http://[::ffff:10.0.0.1]/",
            "http://169.254.169.254/latest/meta-data",
            "http://10.0.0.1/",
        ] {
            assert!(parse(url).expect_err(url).is_host(), "{url}");
        }
        for url in ["http://127.0.0.1@evil.example/", "http://localhost:80@10.0.0.1/"] {
            assert!(parse(url).expect_err(url).is_url(), "{url}");
        }
    }

    #[test]
    fn an_address_of_this_machine_was_refused() {
        for url in [
            "http://127.0.0.1:8080",
            "http://127.9.9.9/",
            "http://[::1]:1/x",
            "http://[::ffff:127.0.0.1]/",
            "http://LOCALHOST:9/",
        ] {
            assert!(parse(url).is_ok_and(|url| url.is_this_machine()), "{url}");
        }
    }

    #[test]
    fn a_url_that_is_no_plain_http_was_called() {
        for url in [
            "https://127.0.0.1/",
            "ftp://127.0.0.1/",
            "127.0.0.1:80",
            "/x",
            "http://127.0.0.1:0/",
            "http://127.0.0.1:99999/",
            "http://127.0.0.1:/",
            "http://[::1]:1:2/",
            "http:///x",
            "http://127.0.0.1/ x",
            "",
        ] {
            assert!(parse(url).is_err_and(|error| error.is_url()), "{url}");
        }
    }

    #[test]
    fn another_host_than_the_one_named_was_called() {
        let named = |url: &str| LoadUrl::parse(url, Some("shop.example"));
        assert!(named("http://shop.example:8080/").is_ok_and(|url| !url.is_this_machine()));
        assert!(named("http://SHOP.example/").is_ok());
        for url in [
            "http://eu.shop.example/",
            "http://shop.example.evil.example/",
            "http://shop.example./",
            "http://shop.exampl/",
        ] {
            let refused = named(url).expect_err(url);
            assert!(refused.to_string().contains("names 'shop.example'"), "{refused}");
        }
        // The name of another host does not forbid this machine.
        assert!(named("http://127.0.0.1/").is_ok_and(|url| url.is_this_machine()));
    }

    #[test]
    fn a_name_with_an_address_of_another_machine_beside_loopback_was_called() {
        let address = |text: &str| text.parse().expect("an address with a port");
        let both = [address("127.0.0.1:80"), address("10.0.0.1:80")];
        let local = parse("http://localhost/").expect("this machine");
        let refused = local.clone().pinned(&both).expect_err("one is elsewhere");
        assert!(refused.is_host() && refused.to_string().contains("10.0.0.1"), "{refused}");
        assert!(local.clone().pinned(&[]).expect_err("no address").is_system());
        let pinned = local.pinned(&[address("[::1]:80"), both[0]]).expect("both are this machine");
        assert_eq!(pinned.address(), address("[::1]:80"));
        // A host that was named may be anywhere, and stays where it was found.
        let named = LoadUrl::parse("http://shop.example/", Some("shop.example")).expect("named");
        assert_eq!(named.pinned(&both).expect("named").address(), both[0]);
    }

    #[test]
    fn the_path_or_the_query_was_lost() {
        let url = parse("http://localhost:8080/orders?x=1#top").expect("this machine");
        assert_eq!((url.path.as_str(), url.authority.as_str()), ("/orders?x=1", "localhost:8080"));
        assert_eq!(parse("http://localhost?x").expect("this machine").path, "/?x");
    }
}
