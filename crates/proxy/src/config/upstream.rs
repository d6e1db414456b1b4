//! The servers that calls go to: URLs of upstreams, and the names that tunnels may lead to.

use std::fmt;

use http::uri::{Authority, Parts, PathAndQuery, Scheme};
use http::{HeaderValue, Uri};
use stagger_core::breaker::Destination;
use stagger_text::settings::{Flaw, Value, refused};
use toml::de::DeValue;

/// The URL of an upstream: `http` or `https`, a host, perhaps a port and a path that goes before that of
/// each request.
///
/// ```
/// use stagger_proxy::config::UpstreamUrl;
/// let upstream: UpstreamUrl = "https://api.example/v2/".parse().expect("a URL");
/// assert_eq!(upstream.destination().as_str(), "https://api.example:443");
/// let path = "/orders?open=1".parse().expect("a path");
/// assert_eq!(upstream.uri(&path).map(|uri| uri.to_string()).as_deref(),
///     Some("https://api.example/v2/orders?open=1"));
/// assert!("ftp://api.example".parse::<UpstreamUrl>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamUrl {
    scheme: Scheme,
    authority: Authority,
    /// Without a slash at its end.
    path: String,
    destination: Destination,
    host: HeaderValue,
}

/// The bound on an upstream, for messages.
const URL: &str = "an http or https URL with a host, without user, query or fragment";

impl UpstreamUrl {
    /// Whether the proxy speaks TLS to it.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.scheme == Scheme::HTTPS
    }

    /// Host and port, as a request's `Host` has them.
    #[must_use]
    pub const fn authority(&self) -> &Authority {
        &self.authority
    }

    /// Its port, the scheme's own where the URL has none.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.authority.port_u16().unwrap_or(if self.is_tls() { 443 } else { 80 })
    }

    /// The key of its budget and its breaker.
    #[must_use]
    pub const fn destination(&self) -> &Destination {
        &self.destination
    }

    /// The `Host` of its requests.
    #[must_use]
    pub const fn host(&self) -> &HeaderValue {
        &self.host
    }

    /// The URI of a request for this path and query; `None` when they are too long together.
    #[must_use]
    pub fn uri(&self, path: &PathAndQuery) -> Option<Uri> {
        let path = match path.as_str() {
            // The whole server (OPTIONS), whatever the path of the upstream.
            "*" => path.clone(),
            _ if self.path.is_empty() => path.clone(),
            below => format!("{}{below}", self.path).parse().ok()?,
        };
        let mut parts = Parts::default();
        parts.scheme = Some(self.scheme.clone());
        parts.authority = Some(self.authority.clone());
        parts.path_and_query = Some(path);
        Uri::from_parts(parts).ok()
    }
}

impl std::str::FromStr for UpstreamUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || URL.to_owned();
        let parts = text.parse::<Uri>().map_err(|_| wrong())?.into_parts();
        let scheme = parts.scheme.filter(|s| *s == Scheme::HTTP || *s == Scheme::HTTPS);
        let scheme = scheme.ok_or_else(wrong)?;
        let authority =
            parts.authority.filter(|it| !it.as_str().contains('@')).ok_or_else(wrong)?;
        let path = parts.path_and_query.filter(|path| path.query().is_none()).ok_or_else(wrong)?;
        if text.contains('#') {
            return Err(wrong());
        }
        let path = path.path().trim_end_matches('/').to_owned();
        let port = authority.port_u16();
        if port == Some(0) || (port.is_none() && authority.as_str().contains("]:")) {
            return Err(wrong());
        }
        let destination = Destination::new(scheme.as_str(), authority.host(), port);
        let destination = destination.map_err(|_| wrong())?;
        let host = HeaderValue::try_from(authority.as_str()).map_err(|_| wrong())?;
        Ok(Self { scheme, authority, path, destination, host })
    }
}

impl fmt::Display for UpstreamUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme, self.authority, self.path)
    }
}

/// A host and port that a tunnel (CONNECT) may lead to; `*.example.com:443` is every name below it.
///
/// ```
/// use stagger_proxy::config::ConnectTarget;
/// let target: ConnectTarget = "*.example.com:443".parse().expect("a target");
/// assert!(target.allows("db.example.com", 443));
/// assert!(!target.allows("example.com", 443) && !target.allows("db.example.com", 22));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectTarget {
    /// In lower case, without the star and its dot.
    host: String,
    below: bool,
    port: u16,
}

impl ConnectTarget {
    /// Whether a tunnel may lead to this host and port.
    #[must_use]
    pub fn allows(&self, host: &str, port: u16) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        let names = if self.below {
            let above = host.strip_suffix(&self.host).and_then(|rest| rest.strip_suffix('.'));
            above.is_some_and(|label| !label.is_empty())
        } else {
            host == self.host
        };
        names && port == self.port
    }
}

impl std::str::FromStr for ConnectTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || "a host with a port, such as db.example.com:443 or *.example.com:443".to_owned();
        let (below, rest) = match text.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let authority = rest.parse::<Authority>().map_err(|_| wrong())?;
        let port = authority.port_u16().filter(|port| *port > 0).ok_or_else(wrong)?;
        let host = authority.host().to_ascii_lowercase();
        if host.is_empty() || host.contains('*') || authority.as_str().contains('@') {
            return Err(wrong());
        }
        Ok(Self { host, below, port })
    }
}

/// The refusal of a text that may be a URL with a user and a password, which no message shows.
pub(super) fn unread(name: &str, value: &Value<'_>, bound: &str) -> Flaw {
    match value.get_ref() {
        DeValue::String(text) if text.contains('@') => {
            Flaw::new(value.span(), format!("{name} = ..: must be {bound}"))
        }
        _ => refused(name, value, bound),
    }
}

/// One text, or a list of texts, each read as a `T`.
pub(super) fn texts<T: std::str::FromStr<Err = String>>(
    name: &str,
    value: &Value<'_>,
) -> Result<Vec<T>, Flaw> {
    let one = |value: &Value<'_>| match value.get_ref() {
        DeValue::String(text) => text.parse().map_err(|bound: String| unread(name, value, &bound)),
        _ => Err(refused(name, value, "text in quotes")),
    };
    match value.get_ref() {
        DeValue::Array(list) if list.is_empty() => Err(refused(name, value, "at least one")),
        DeValue::Array(list) => list.iter().map(one).collect(),
        _ => Ok(vec![one(value)?]),
    }
}

#[cfg(test)]
mod tests {
    use super::super::ProxySettings;

    #[test]
    fn a_wrong_url_was_shown_with_its_password() {
        for (at, key, value) in [
            (12, "upstream", "http://me:hunter2@a.example"),
            (12, "upstream", "ftp://me:hunter2@a.example"),
            (11, "connect", "me:hunter2@a.example:80"),
        ] {
            let text = format!("[route.a]\n{key} = '{value}'\n");
            let refused = ProxySettings::parse("r.toml", &text).expect_err("a user").to_string();
            let begin = format!("r.toml:2:{at}: route.a.{key} = ..: must be ");
            assert!(refused.starts_with(&begin) && !refused.contains("hunter2"), "{refused}");
        }
        let text = "proxy.otlp = 'ftp://me:hunter2@a'\n[route.a]\nupstream = 'http://a'\n";
        let refused = ProxySettings::parse("r.toml", text).expect_err("no collector").to_string();
        assert!(refused.starts_with("r.toml:1:14: proxy.otlp = ..: must be "), "{refused}");
    }
}
