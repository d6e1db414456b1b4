//! The name of a destination: scheme, host and port, and nothing else of a URL.

use alloc::format;
use alloc::string::String;
use core::borrow::Borrow;
use core::fmt;

use crate::error::ConfigError;

/// Longest host: 253 bytes of a domain name (RFC 1035 section 2.3.4), a dot and brackets. Keeps a
/// registry's keys bounded.
const MAX_HOST: usize = 256;
/// Longest scheme; the registered ones stay below.
const MAX_SCHEME: usize = 64;

/// The key of a breaker: `https://example.com:443`, in lower case, port included.
///
/// Path, query, fragment and user name are left out: they may hold ids and secrets, and a breaker
/// for each would never see a second call.
///
/// ```
/// use stagger_core::breaker::Destination;
/// let destination = Destination::of_url("HTTPS://me:secret@Example.com/users/7?token=x")?;
/// assert_eq!(destination.as_str(), "https://example.com:443");
/// assert_eq!(destination, Destination::new("https", "example.com", Some(443))?);
/// # Ok::<(), stagger_core::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Destination(String);

impl Destination {
    /// The destination of this scheme, host and port; the scheme's own port when there is none.
    ///
    /// An IPv6 address is written in brackets, as in a URL.
    ///
    /// # Errors
    /// A scheme or host that is empty, too long, or holds a character that ends it in a URL.
    pub fn new(scheme: &str, host: &str, port: Option<u16>) -> Result<Self, ConfigError> {
        if !(1..=MAX_SCHEME).contains(&scheme.len()) || !scheme.bytes().all(is_scheme_byte) {
            return Err(ConfigError::new("destination.scheme", scheme, "a URL scheme"));
        }
        let host = host.strip_suffix('.').unwrap_or(host);
        if !(1..=MAX_HOST).contains(&host.len()) || host.bytes().any(ends_host) {
            return Err(ConfigError::new("destination.host", host, "a host name or address"));
        }
        let mut name = match port.or_else(|| default_port(scheme)) {
            Some(port) => format!("{scheme}://{host}:{port}"),
            None => format!("{scheme}://{host}"),
        };
        name.make_ascii_lowercase();
        Ok(Self(name))
    }

    /// The destination of an absolute URL (RFC 3986 section 3.2).
    ///
    /// # Errors
    /// Text without `scheme://host`, or with a port that is none.
    pub fn of_url(url: &str) -> Result<Self, ConfigError> {
        // The URL may hold a secret, so no message repeats it.
        let refuse = |bound| ConfigError::new("destination.url", "(hidden)", bound);
        let (scheme, rest) = url.split_once("://").ok_or_else(|| refuse("scheme://host"))?;
        let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or(rest);
        let address = authority.rsplit_once('@').map_or(authority, |(_, address)| address);
        let (host, port) = match address.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port),
            _ => (address, ""),
        };
        let port = match port {
            "" => None,
            digits => {
                Some(digits.parse().map_err(|_| refuse("scheme://host with a port up to 65535"))?)
            }
        };
        Self::new(scheme, host, port)
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Destination {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The port that a scheme stands for (RFC 9110 section 4.2, RFC 6455 section 3).
fn default_port(scheme: &str) -> Option<u16> {
    let is = |name| scheme.eq_ignore_ascii_case(name);
    if is("https") || is("wss") {
        Some(443)
    } else if is("http") || is("ws") {
        Some(80)
    } else {
        None
    }
}

const fn is_scheme_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

const fn ends_host(byte: u8) -> bool {
    matches!(byte, b'/' | b'?' | b'#' | b'@' | b'\\' | 0..=b' ' | 0x7f)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(url: &str) -> Option<String> {
        Destination::of_url(url).ok().map(|destination| destination.0)
    }

    #[test]
    fn one_server_has_one_name() {
        for url in [
            "http://a.example",
            "HTTP://A.Example:80/",
            "http://a.example.:80/x?y=http://b/",
            "http://user:p@ss@a.example#z",
            "http://a.example:/",
        ] {
            assert_eq!(name(url).as_deref(), Some("http://a.example:80"), "{url}");
        }
        assert_eq!(name("http://[::1]/").as_deref(), Some("http://[::1]:80"));
        assert_eq!(name("http://[::1]:8080/").as_deref(), Some("http://[::1]:8080"));
        assert_eq!(name("redis://cache").as_deref(), Some("redis://cache"));
    }

    #[test]
    fn text_that_is_no_url_gets_no_breaker() {
        for url in ["", "a.example", "http://", "http:///x", "http://a:65536", "://a", "http://a b"]
        {
            assert_eq!(name(url), None, "{url}");
        }
        assert_eq!(name(&alloc::format!("http://{}", "a".repeat(300))), None);
    }

    #[test]
    fn a_secret_in_the_url_is_not_in_the_error() {
        let error = Destination::of_url("http://me:secret@a:99999/").map_err(|e| format!("{e}"));
        assert_eq!(error.err().map(|text| text.contains("secret")), Some(false));
    }
}
