//! One route: the requests that it takes, the servers that they go to, and how.

use std::fmt;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use stagger::service_config::ServiceConfig;
use stagger::{Policy, Span};
use stagger_text::settings::{Flaw, Reader};

use super::headers::{HeaderSource, HeaderValueSource};
use super::limits::{tunnel_wait, wait};
use super::policy::{self, NamedPolicies};
use super::retry::RetryRules;
use super::tls::UpstreamTls;
use super::upstream::{ConnectTarget, UpstreamUrl, texts};

/// The most calls in flight that a route may be configured for.
const MAX_IN_FLIGHT: u32 = 100_000;

/// The keys that need an upstream, and mean nothing for a tunnel.
const FORWARDING: [&str; 9] = [
    "http",
    "keep_host",
    "forwarded",
    "strip_path",
    "path",
    "host",
    "service_config",
    "retry",
    "headers",
];

/// Requests of one kind, and how they are made.
#[derive(Clone, Debug, PartialEq)]
pub struct RouteSettings {
    /// Its name, in metrics and logs.
    pub name: String,
    /// The address that it listens on.
    pub listen: SocketAddr,
    /// The hosts of its requests; empty for all.
    pub hosts: Vec<HostPattern>,
    /// The beginning of the paths of its requests, at a slash.
    pub path: String,
    /// Whether that beginning is left out upstream.
    pub strip_path: bool,
    /// The servers that its requests go to.
    pub target: RouteTarget,
    /// The policy of its calls.
    pub policy: Policy,
    /// The policies of its gRPC methods, if a service config has them.
    pub service_config: Option<ServiceConfig>,
    /// The requests that may be sent again.
    pub retry: RetryRules,
    /// Headers that are set on every attempt.
    pub headers: Vec<HeaderSource>,
    /// TLS to its upstreams.
    pub tls: UpstreamTls,
    /// The version of HTTP that is spoken to its upstreams.
    pub protocol: UpstreamProtocol,
    /// Whether upstreams see the `Host` that the caller sent, rather than their own.
    pub keep_host: bool,
    /// Whether upstreams are told the caller's address (`Forwarded`, `X-Forwarded-For` and its kin).
    pub forwarded: bool,
    /// Whether the time limits that callers send shorten the deadline. Default: true.
    pub caller_deadline: bool,
    /// Whether only globally routable addresses may be connected to. Default: false.
    pub public_only: bool,
    /// Calls in flight at one time, from 1 to 100 000; others are refused. Default: 1024.
    pub max_in_flight: usize,
    /// Time for a connection to an upstream, TLS included. Default: 5 s.
    pub connect_timeout: Span,
    /// Time after which an unused connection to an upstream is closed. Default: 60 s.
    pub upstream_idle_timeout: Span,
    /// Time after which a tunnel or a WebSocket is closed, when neither side sends anything. Default: 1 h.
    pub tunnel_idle_timeout: Span,
}

/// The servers of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RouteTarget {
    /// Servers that requests are forwarded to, in turn.
    Upstreams(Vec<UpstreamUrl>),
    /// Servers that tunnels (CONNECT) may lead to.
    Tunnels(Vec<ConnectTarget>),
}

/// The version of HTTP that is spoken to an upstream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UpstreamProtocol {
    /// As TLS negotiates it (ALPN); HTTP/1.1 without TLS.
    #[default]
    Auto,
    /// HTTP/1.1.
    Http1,
    /// HTTP/2; without TLS with prior knowledge (h2c), as gRPC has it.
    Http2,
}

/// The host of requests; `*.example.com` is every name below it.
///
/// ```
/// use stagger_proxy::config::HostPattern;
/// let below: HostPattern = "*.example.com".parse().expect("a pattern");
/// assert!(below.matches("API.example.com") && !below.matches("example.com"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPattern {
    host: String,
    below: bool,
}

impl HostPattern {
    /// Whether requests to this host, written without a port, are meant.
    #[must_use]
    pub fn matches(&self, host: &str) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host);
        if !self.below {
            return host.eq_ignore_ascii_case(&self.host);
        }
        let Some(dot) = host.len().checked_sub(self.host.len() + 1).filter(|dot| *dot > 0) else {
            return false;
        };
        let tail = host.get(dot..).and_then(|tail| tail.strip_prefix('.'));
        tail.is_some_and(|tail| tail.eq_ignore_ascii_case(&self.host))
    }

    /// Whether it is one name rather than those below one.
    #[must_use]
    pub const fn is_exact(&self) -> bool {
        !self.below
    }
}

impl std::str::FromStr for HostPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (below, host) = match text.strip_prefix("*.") {
            Some(host) => (true, host),
            None => (false, text),
        };
        let authority = host.parse::<http::uri::Authority>().ok();
        let plain = authority.filter(|it| it.as_str() == it.host() && !host.contains('*'));
        match plain {
            Some(_) => Ok(Self { host: host.to_ascii_lowercase(), below }),
            None => Err("a host without a port, such as api.internal or *.internal".to_owned()),
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.below { "*." } else { "" }, self.host)
    }
}

/// The parts of a file that its routes need.
pub(super) struct RouteContext<'f> {
    pub(super) listen: SocketAddr,
    pub(super) policies: &'f NamedPolicies,
    pub(super) folder: &'f Path,
}

impl RouteSettings {
    /// Reads `[route.NAME]`.
    pub(super) fn read(
        name: &str,
        table: &Reader<'_, '_>,
        context: &RouteContext<'_>,
    ) -> Result<Self, Flaw> {
        let folder = context.folder;
        let target = target(table)?;
        let hosts = table.value("host").map(|value| texts(&table.name("host"), value));
        let retry = table.table("retry")?.map(|retry| RetryRules::read(&retry));
        let headers = table.table("headers")?;
        let headers = headers.map(|headers| HeaderSource::read_all(&headers, folder));
        let tls = table.table("tls")?.map(|tls| UpstreamTls::read(&tls, folder));
        let flag = |key, usual| Ok(table.boolean(key)?.unwrap_or(usual));
        let in_flight = table.count("max_in_flight", (1, MAX_IN_FLIGHT))?;
        let in_flight = in_flight.and_then(|count| usize::try_from(count).ok());
        let route = Self {
            name: route_name(name, table)?,
            listen: address(table, "listen")?.unwrap_or(context.listen),
            hosts: hosts.transpose()?.unwrap_or_default(),
            path: path(table)?,
            strip_path: flag("strip_path", false)?,
            target,
            policy: policy::of_route(table, context.policies, folder)?,
            service_config: service_config(table, folder)?,
            retry: retry.transpose()?.unwrap_or_default(),
            headers: headers.transpose()?.unwrap_or_default(),
            tls: tls.transpose()?.unwrap_or_default(),
            protocol: table.word("http", &PROTOCOLS)?.unwrap_or_default(),
            keep_host: flag("keep_host", false)?,
            forwarded: flag("forwarded", false)?,
            caller_deadline: flag("caller_deadline", true)?,
            public_only: flag("public_only", false)?,
            max_in_flight: in_flight.unwrap_or(1024),
            connect_timeout: wait(table, "connect_timeout")?.unwrap_or(Span::from_secs(5)),
            upstream_idle_timeout: wait(table, "upstream_idle_timeout")?
                .unwrap_or(Span::from_secs(60)),
            tunnel_idle_timeout: tunnel_wait(table)?.unwrap_or(Span::from_secs(60 * 60)),
        };
        table.done()?;
        route.fits(table)?;
        Ok(route)
    }

    /// Refuses settings that do not fit each other.
    fn fits(&self, table: &Reader<'_, '_>) -> Result<(), Flaw> {
        if matches!(self.target, RouteTarget::Tunnels(_)) {
            let given = |key: &str| table.names().any(|(name, _)| name == key);
            if let Some(key) = FORWARDING.into_iter().find(|key| given(key)) {
                return Err(
                    table.wrong(key, "left out of a route of tunnels, whose bytes nobody reads")
                );
            }
        }
        let from_file = |it: &HeaderSource| matches!(it.source, HeaderValueSource::File(_));
        if self.retry.after_401 && !self.headers.iter().any(from_file) {
            let why = "has retry.after_401 and no header from a file: nothing would be fresh";
            return Err(table.flaw(why));
        }
        Ok(())
    }

    /// Whether an upstream of the route is spoken to by TLS.
    #[must_use]
    pub fn speaks_tls(&self) -> bool {
        match &self.target {
            RouteTarget::Upstreams(upstreams) => upstreams.iter().any(UpstreamUrl::is_tls),
            RouteTarget::Tunnels(_) => false,
        }
    }

    /// The policy of its ledgers and retries. The budget is that of the route's policy, unless the service config throttles retries.
    #[must_use]
    pub fn ledger_policy(&self) -> Policy {
        let throttling = self.service_config.as_ref().and_then(ServiceConfig::throttling);
        let policy = throttling.map(|plan| self.policy.to_builder().budget(plan).build());
        // OK because every budget fits every policy.
        policy.and_then(Result::ok).unwrap_or(self.policy)
    }
}

const PROTOCOLS: [(&str, UpstreamProtocol); 3] = [
    ("auto", UpstreamProtocol::Auto),
    ("1.1", UpstreamProtocol::Http1),
    ("2", UpstreamProtocol::Http2),
];

/// Names are labels of metrics and go into logs, so they are short and plain.
fn route_name(name: &str, table: &Reader<'_, '_>) -> Result<String, Flaw> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if (1..=64).contains(&name.len()) && name.bytes().all(plain) {
        return Ok(name.to_owned());
    }
    Err(table.flaw("the name must be 1 to 64 letters, digits, hyphens, underscores or dots"))
}

/// An address with a port.
pub(super) fn address(
    table: &Reader<'_, '_>,
    key: &'static str,
) -> Result<Option<SocketAddr>, Flaw> {
    let Some((text, _)) = table.plain(key)? else { return Ok(None) };
    let read = text.parse().map(Some);
    read.map_err(|_| table.wrong(key, "an address with a port, such as 127.0.0.1:7878"))
}

fn path(table: &Reader<'_, '_>) -> Result<String, Flaw> {
    let Some(path) = table.text("path")? else { return Ok("/".to_owned()) };
    let valid = path.starts_with('/')
        && path.parse::<http::Uri>().is_ok_and(|uri| uri.path() == path && uri.query().is_none());
    if valid { Ok(path.to_owned()) } else { Err(table.wrong("path", "a path that begins with /")) }
}

fn target(table: &Reader<'_, '_>) -> Result<RouteTarget, Flaw> {
    match (table.value("upstream"), table.value("connect")) {
        (Some(value), None) => {
            let upstreams: Vec<UpstreamUrl> = texts(&table.name("upstream"), value)?;
            Ok(RouteTarget::Upstreams(upstreams))
        }
        (None, Some(value)) => Ok(RouteTarget::Tunnels(texts(&table.name("connect"), value)?)),
        _ => Err(table.flaw("must have either upstream or connect")),
    }
}

fn service_config(table: &Reader<'_, '_>, folder: &Path) -> Result<Option<ServiceConfig>, Flaw> {
    let Some(file) = table.text("service_config")? else { return Ok(None) };
    let read = fs::read_to_string(folder.join(file)).map_err(|error| error.to_string());
    let config = read.and_then(|text| serde_json::from_str(&text).map_err(|e| e.to_string()));
    config
        .map(Some)
        .map_err(|why| table.wrong("service_config", &format!("a service config: {why}")))
}
