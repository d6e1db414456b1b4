//! All routes, and the one that takes a request.

use std::net::SocketAddr;
use std::sync::Arc;

use super::route::Route;
use crate::config::{HostPattern, ProxySettings, RouteTarget, SettingsFault};
use crate::destination::LedgerRegistry;

/// The routes of a proxy. A new table takes its place when the settings are read again.
#[derive(Debug)]
pub(crate) struct RouteTable {
    routes: Vec<Arc<Route>>,
}

/// The part of a request that its route is chosen by.
#[derive(Clone, Copy, Debug)]
pub(super) struct RouteQuery<'r> {
    /// The configured address of the listener.
    pub(super) listen: SocketAddr,
    /// The host without its port.
    pub(super) host: &'r str,
    pub(super) path: &'r str,
    /// Whether the client takes the proxy for one that relays to any server (an absolute URI in HTTP/1.1), so that
    /// the host must be one that the route names.
    pub(super) absolute: bool,
}

impl RouteTable {
    /// The routes of these settings; those that are as `before` keep their ledgers and figures.
    ///
    /// # Errors
    /// As of [`Route::new`].
    pub(crate) fn new(
        settings: &ProxySettings,
        before: Option<&Self>,
        registry: &LedgerRegistry,
    ) -> Result<Self, SettingsFault> {
        let route = |settings: &crate::config::RouteSettings| {
            let named = |route: &&Arc<Route>| route.settings.name == settings.name;
            let before = before.and_then(|before| before.routes.iter().find(named));
            Route::new(settings.clone(), before.map(|route| &**route), registry).map(Arc::new)
        };
        Ok(Self { routes: settings.routes.iter().map(route).collect::<Result<_, _>>()? })
    }

    /// All routes, in the order of their names.
    pub(crate) fn routes(&self) -> &[Arc<Route>] {
        &self.routes
    }

    /// The route of a request: the one that names its host before those below a host, those before all hosts, and
    /// then the longest path.
    pub(super) fn find(&self, query: RouteQuery<'_>) -> Option<&Arc<Route>> {
        let ranked = self.routes.iter().filter_map(|route| Some((rank(route, query)?, route)));
        ranked.max_by_key(|(rank, _)| *rank).map(|(_, route)| route)
    }

    /// The route of a tunnel to this host and port.
    pub(super) fn tunnel(&self, listen: SocketAddr, host: &str, port: u16) -> Option<&Arc<Route>> {
        self.routes.iter().find(|route| {
            let RouteTarget::Tunnels(targets) = &route.settings.target else { return false };
            route.settings.listen == listen && targets.iter().any(|it| it.allows(host, port))
        })
    }
}

/// The rank of a route for a request, higher where it fits better; `None` if it does not take it.
fn rank(route: &Route, query: RouteQuery<'_>) -> Option<(u8, usize)> {
    let settings = &route.settings;
    let RouteTarget::Upstreams(upstreams) = &settings.target else { return None };
    if settings.listen != query.listen || !is_below(query.path, &settings.path) {
        return None;
    }
    let named = settings.hosts.iter().filter(|pattern| pattern.matches(query.host));
    let named = named.map(|pattern| if HostPattern::is_exact(pattern) { 2 } else { 1 }).max();
    let by_host = match named {
        Some(rank) => rank,
        None if !settings.hosts.is_empty() => return None,
        // A request that is written for any proxy must be for the very server that it would go to.
        None if query.absolute => {
            let own = |host: &str| host.eq_ignore_ascii_case(query.host);
            upstreams.iter().any(|it| own(it.authority().host())).then_some(0)?
        }
        None => 0,
    };
    Some((by_host, settings.path.len()))
}

/// Whether a path is `prefix` or below it: `/v1` takes `/v1` and `/v1/a`, not `/v10`.
fn is_below(path: &str, prefix: &str) -> bool {
    match path.strip_prefix(prefix) {
        Some(rest) => prefix.ends_with('/') || rest.is_empty() || rest.starts_with('/'),
        // `/v1` alone is the root of `/v1/`; `*` is the whole server (OPTIONS).
        None => prefix.strip_suffix('/') == Some(path) || (path == "*" && prefix == "/"),
    }
}

/// The path that the upstream sees, where the beginning that chose the route is left out.
pub(super) fn stripped<'p>(path_and_query: &'p str, prefix: &str) -> std::borrow::Cow<'p, str> {
    let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
    match path_and_query.strip_prefix(prefix) {
        Some(rest) if rest.starts_with('/') => rest.into(),
        Some(rest) => format!("/{rest}").into(),
        None => path_and_query.into(),
    }
}

/// Whether a path has a segment that servers read as "here" or "above", plain or percent-encoded: which route it
/// belongs to would be another question than where the upstream takes it.
pub(super) fn has_dot_segment(path: &str) -> bool {
    path.split(['/', '\\']).any(|segment| {
        let plain = segment.to_ascii_lowercase().replace("%2e", ".");
        plain == "." || plain == ".."
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(text: &str, (host, path): (&str, &str), absolute: bool) -> Option<String> {
        let settings = ProxySettings::parse("r.toml", text).expect("good settings");
        let table =
            RouteTable::new(&settings, None, &LedgerRegistry::local()).expect("nothing to read");
        let listen = settings.routes[0].listen;
        let route = table.find(RouteQuery { listen, host, path, absolute });
        route.map(|route| route.settings.name.clone())
    }

    #[tokio::test]
    async fn the_most_exact_route_takes_a_request() {
        let text = "
            [route.any]
            upstream = 'http://a.example'
            [route.below]
            host = '*.internal'
            upstream = 'http://a'
            [route.exact]
            host = 'api.internal'
            path = '/v1'
            upstream = 'http://a'
            [route.deep]
            host = 'api.internal'
            path = '/v1/orders/'
            upstream = 'http://a'";
        for (host, path, expected) in [
            ("api.internal", "/v1", "exact"),
            ("API.internal", "/v1/orders/7", "deep"),
            ("api.internal", "/v1/orders", "deep"),
            ("api.internal", "/v10", "below"),
            ("other", "/v1", "any"),
        ] {
            assert_eq!(
                chosen(text, (host, path), false).as_deref(),
                Some(expected),
                "{host} {path}"
            );
        }
        assert_eq!(chosen(text, ("other", "/"), true), None, "no relay to any server");
        assert_eq!(chosen(text, ("a.example", "/"), true).as_deref(), Some("any"));
        assert_eq!(chosen(text, ("api.internal", "/"), true).as_deref(), Some("below"));
    }

    #[test]
    fn a_path_climbed_out_of_its_route() {
        for path in ["/a/../b", "/a/%2e%2E/b", "/a/.%2e", "/..", "/a/./b", "/a\\..\\b"] {
            assert!(has_dot_segment(path), "{path}");
        }
        for path in ["/a/..b", "/.well-known/x", "/a...b", "/", "*"] {
            assert!(!has_dot_segment(path), "{path}");
        }
        assert_eq!(stripped("/v1/a?b", "/v1/"), "/a?b");
        assert_eq!(stripped("/v1?b", "/v1"), "/?b");
    }
}
