//! The parts of a route that several formats share: names, paths, methods, and routes that take the same requests.

use std::net::IpAddr;

use stagger_core::Span;

use crate::routes::{ImportedRoute, ImportedRoutes, ServerTls};
use crate::{ImportError, Imported};

/// The longest name of a route.
const NAME: usize = 64;

/// The headers that the proxy writes itself, so that no imported route sets one.
pub const PROXY_HEADERS: [&str; 12] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-connection",
    "stagger-attempt",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
];

/// Retry conditions of Envoy that are states of gRPC.
const GRPC_CONDITIONS: [&str; 5] =
    ["cancelled", "deadline-exceeded", "internal", "resource-exhausted", "unavailable"];

/// The bound of a condition that the proxy does not have.
pub(super) const BY_HOST_AND_PATH: &str =
    "left out: a route of the proxy is chosen by host and path only";

/// The servers of a route, and how they are reached.
#[derive(Clone, Debug, Default)]
pub(super) struct RouteServers {
    /// Hosts with ports.
    pub(super) authorities: Vec<String>,
    /// TLS, or none for plain HTTP.
    pub(super) tls: Option<ServerTls>,
    pub(super) http: Option<&'static str>,
    pub(super) connect_timeout: Option<Span>,
    pub(super) max_in_flight: Option<u32>,
}

/// The requests that a match of the source takes, as far as a route of the proxy can say it.
#[derive(Clone, Debug, Default)]
pub(super) struct RouteMatch {
    pub(super) path: String,
    /// Whether no path below is taken.
    pub(super) exact: bool,
    pub(super) methods: Vec<String>,
    /// Whether the source says that its requests are those of gRPC.
    pub(super) grpc: bool,
}

impl RouteMatch {
    /// The gRPC methods that are repeated: the source matches gRPC, or retries on its states.
    pub(super) fn grpc_methods(&self, retry_on: &str) -> Vec<String> {
        let named = retry_on.split(',').any(|word| GRPC_CONDITIONS.contains(&word.trim()));
        let mut parts = self.path.split('/');
        let (Some(""), Some(service), method, None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Vec::new();
        };
        // A package has a dot, which tells a service from the first part of another path.
        let shaped = !service.is_empty() && (self.grpc || (named && service.contains('.')));
        match method {
            _ if !shaped => Vec::new(),
            Some(method) if self.exact && !method.is_empty() => vec![self.path.clone()],
            Some("") | None if !self.exact => vec![format!("/{service}/*")],
            _ => Vec::new(),
        }
    }
}

/// A host and a port as a URL has them.
pub(super) fn authority(host: &str, port: u32) -> String {
    match host.parse() {
        Ok(IpAddr::V6(_)) => format!("[{host}]:{port}"),
        _ => format!("{host}:{port}"),
    }
}

/// A path as the proxy takes it.
///
/// # Errors
/// A path that does not begin with a slash, or has a query or blanks.
pub(super) fn path(at: &str, text: &str) -> Result<String, ImportError> {
    if text.is_empty() {
        return Ok("/".to_owned());
    }
    let plain =
        |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#' | b'"' | b'<' | b'>');
    if text.starts_with('/') && text.bytes().all(plain) {
        return Ok(text.to_owned());
    }
    Err(ImportError::new(at, format!("{text:?}"), "a path that begins with /, without a query"))
}

/// Methods in an exact text or in an expression of alternatives, such as `GET|HEAD`.
pub(super) fn methods(text: &str) -> Option<Vec<String>> {
    let text = text.strip_prefix('^').unwrap_or(text);
    let text = text.strip_suffix('$').unwrap_or(text);
    let text = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(text);
    let all: Vec<&str> = text.split('|').collect();
    let method =
        |name: &&str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase());
    all.iter().all(method).then(|| all.into_iter().map(str::to_owned).collect())
}

/// A rewritten prefix: whether the path of the route is left out, and the path of the upstream's URL.
///
/// # Errors
/// A rewrite that the two together cannot say.
pub(super) fn rewrite(
    at: &str,
    matched: &RouteMatch,
    to: &str,
) -> Result<(bool, String), ImportError> {
    let (from, slashed) = (matched.path.trim_end_matches('/'), matched.path.ends_with('/'));
    let target = to.trim_end_matches('/');
    if from == target {
        return Ok((false, String::new()));
    }
    if matched.exact || !to.starts_with('/') || (slashed && !to.ends_with('/')) {
        let bound = "a prefix for a prefix: the proxy leaves the path of a route out, and puts that of \
                     the upstream before the rest";
        return Err(ImportError::new(at, format!("{to:?}"), bound));
    }
    Ok((!from.is_empty(), path(at, target)?.trim_end_matches('/').to_owned()))
}

/// Whether a header can be set on attempts to this value; the reason is listed if not.
pub(super) fn settable(at: &str, name: &str, value: &str, imported: &mut Imported) -> bool {
    let lower = name.to_ascii_lowercase();
    let why = if PROXY_HEADERS.contains(&lower.as_str()) || lower.starts_with(':') {
        "a header that the proxy writes itself"
    } else if value.contains('%') {
        "a value that is made anew for each request"
    } else {
        return true;
    };
    imported.leave_out(at, format!("{name}: {value}"), why);
    false
}

/// The one to take of several weighted parts: all of them if their weights are equal, else the heaviest.
///
/// Calls go to upstreams in turn, so a part of 1 % would get as much as each other one.
pub(super) fn by_weight<T>(at: &str, mut parts: Vec<(u64, T)>, imported: &mut Imported) -> Vec<T> {
    let most = parts.iter().map(|(weight, _)| *weight).max().unwrap_or(0);
    if parts.iter().any(|(weight, _)| *weight != most) {
        let weights: Vec<String> = parts.iter().map(|(weight, _)| weight.to_string()).collect();
        let why = "the proxy has no weights: calls go to the part with the greatest";
        imported.leave_out(at, weights.join(", "), why);
        parts.retain(|(weight, _)| *weight == most);
        parts.truncate(1);
    }
    parts.into_iter().map(|(_, part)| part).collect()
}

/// Adds a route. Hosts whose requests an earlier route takes are left out of it, and so is the whole route when
/// it has no other.
pub(super) fn add(mut route: ImportedRoute, found: &mut ImportedRoutes) {
    let earlier = |host: Option<&String>| {
        found.routes.iter().find(|known| {
            let same = match host {
                Some(host) => known.host.contains(host),
                None => known.host.is_empty(),
            };
            same && known.covers(&route)
        })
    };
    let taken = match route.host.as_slice() {
        [] => earlier(None).map(|known| (Vec::new(), known.name.clone())),
        hosts => {
            let free: Vec<String> =
                hosts.iter().filter(|host| earlier(Some(host)).is_none()).cloned().collect();
            let by = hosts.iter().find_map(|host| earlier(Some(host))).map(|it| it.name.clone());
            by.map(|by| (free, by))
        }
    };
    if let Some((free, by)) = taken {
        let (path, hosts) = (&route.path, route.host.join(", "));
        let taken = if hosts.is_empty() { path.clone() } else { format!("{path} of {hosts}") };
        if free.is_empty() {
            let bound = format!("other requests: route {by}, which comes first, takes them");
            let refused = ImportError::new(route.source_path.clone(), taken, bound);
            return found.imported.entry(Err(refused));
        }
        let why = format!("route {by}, which comes first, takes some of its hosts");
        found.imported.leave_out(route.source_path.clone(), taken, why);
        route.host = free;
    }
    route.name = unlike(&route.name, found);
    found.routes.push(route);
}

/// A name of plain characters that no other route has.
fn unlike(name: &str, found: &ImportedRoutes) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' }
    };
    let plain: String = name.chars().map(plain).take(NAME).collect();
    let plain = if plain.is_empty() { "route".to_owned() } else { plain };
    let numbered = (2_u32..).map(|number| {
        let end = format!("-{number}");
        let begin: String = plain.chars().take(NAME - end.len()).collect();
        begin + &end
    });
    let mut names = std::iter::once(plain.clone()).chain(numbered);
    let free = names.find(|name| found.routes.iter().all(|known| known.name != *name));
    free.unwrap_or(plain.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rewrite_that_joins_two_words_was_carried() {
        let matched = |path: &str| RouteMatch { path: path.to_owned(), ..RouteMatch::default() };
        let said = |from: &str, to: &str| rewrite("x", &matched(from), to).ok();
        assert_eq!(said("/orders/", "/"), Some((true, String::new())));
        assert_eq!(said("/orders", "/v2"), Some((true, "/v2".to_owned())));
        assert_eq!(said("/", "/v2/"), Some((false, "/v2".to_owned())));
        assert_eq!(said("/v1/", "/v1/"), Some((false, String::new())));
        assert_eq!(said("/orders/", "/v2"), None, "/orders/7 is /v27 in Envoy");
        let exact = RouteMatch { exact: true, ..matched("/a") };
        assert!(rewrite("x", &exact, "/b").is_err());
    }

    #[test]
    fn a_path_of_rest_looked_like_a_method_of_grpc() {
        let of = |path: &str, exact, grpc, retry_on| {
            RouteMatch { path: path.to_owned(), exact, grpc, ..RouteMatch::default() }
                .grpc_methods(retry_on)
        };
        assert_eq!(of("/shop.Orders/Get", true, false, "unavailable"), ["/shop.Orders/Get"]);
        assert_eq!(of("/shop.Orders/", false, false, "5xx, unavailable"), ["/shop.Orders/*"]);
        assert_eq!(of("/Orders", false, true, ""), ["/Orders/*"]);
        for (path, exact, retry_on) in [
            ("/orders", false, "unavailable"),
            ("/shop.Orders/", false, "5xx"),
            ("/", false, "unavailable"),
        ] {
            assert!(of(path, exact, false, retry_on).is_empty(), "{path}");
        }
        assert!(of("/shop.Orders/Get/x", true, true, "").is_empty());
    }

    #[test]
    fn alternatives_are_methods_and_other_expressions_are_not() {
        assert_eq!(methods("^(GET|HEAD)$").expect("methods"), ["GET", "HEAD"]);
        assert_eq!((methods("G.*"), methods(""), methods("GET|")), (None, None, None));
    }
}
