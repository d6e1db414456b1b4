//! The routes of Istio: each match of a `VirtualService`, with the servers that the `DestinationRule` of its host
//! describes.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::envoy_retry;
use super::format::Page;
use super::istio::{self, GROUP, Rule};
use super::istio_servers::HostTrafficPolicy;
use super::kubernetes::{self, kind};
use super::route_parts::{
    self, BY_HOST_AND_PATH, RouteMatch, RouteServers, by_weight, methods, rewrite, settable,
};
use crate::routes::{ImportedRoute, ImportedRoutes, RepeatedRequests, ServerTls};
use crate::table::SettingsTable;
use crate::{ImportError, Imported};

/// Conditions of a match that the proxy does not have: without them other requests would be taken too.
const CONDITIONS: [&str; 6] =
    ["headers", "withoutHeaders", "queryParams", "port", "sourceLabels", "sourceNamespace"];

/// Settings of a route that change requests or replies in ways that the proxy does not.
const NOT_CARRIED: [&str; 4] = ["fault", "mirror", "mirrors", "corsPolicy"];

/// Whether a document is a `VirtualService` or a `DestinationRule`.
pub(super) fn recognizes(tree: &Value) -> bool {
    matches!(kind(tree, GROUP), Some("VirtualService" | "DestinationRule"))
}

/// Reads the routes of all documents.
pub(super) fn routes(pages: &[Page<'_>], found: &mut ImportedRoutes) {
    let mut reader = IstioRoutes { rules: Vec::new(), traffic: Vec::new() };
    for page in pages.iter().filter(|page| kind(page.tree, GROUP) == Some("DestinationRule")) {
        found.imported.begin(page.document);
        let Some(map) = page.map() else { continue };
        let read = istio::rule(page, map, &mut reader.rules, &mut found.imported);
        found.imported.entry(read);
        reader.traffic.extend(HostTrafficPolicy::of_rule(page, map));
    }
    for page in pages.iter().filter(|page| kind(page.tree, GROUP) == Some("VirtualService")) {
        found.imported.begin(page.document);
        if let Some(map) = page.map() {
            let read = reader.service(page, map, found);
            found.imported.entry(read);
        }
    }
    if !found.routes.is_empty() {
        envoy_retry::notes(&mut found.imported);
        envoy_retry::no_hints(&mut found.imported);
        found.imported.note(
            "Istio's routes name no address to listen on: programs reach the proxy by its own, and name \
             the host in the request.",
        );
    }
}

struct IstioRoutes<'a> {
    rules: Vec<Rule>,
    traffic: Vec<HostTrafficPolicy<'a>>,
}

impl<'a> IstioRoutes<'a> {
    fn service(
        &mut self,
        page: &Page<'a>,
        map: &'a Map<String, Value>,
        found: &mut ImportedRoutes,
    ) -> Result<(), ImportError> {
        let resource = kubernetes::resource(&page.path, map);
        let namespace = resource.table("metadata")?.and_then(|it| it.text("namespace"));
        let Some(spec) = resource.table("spec")? else { return Ok(()) };
        let why = "the proxy's routes are of HTTP; a route with `connect` makes tunnels";
        spec.nearly("tcp", why, &mut found.imported);
        spec.nearly("tls", why, &mut found.imported);
        let hosts = spec.get("hosts").and_then(|(_, hosts)| hosts.as_array());
        let hosts = hosts.into_iter().flatten().filter_map(Value::as_str);
        let hosts = names(hosts, namespace);
        for http in spec.list("http")? {
            found.imported.begin(page.document);
            if let Err(error) = self.entry(page, &http, (&hosts, namespace), found) {
                found.imported.entry(Err(error));
            }
        }
        Ok(())
    }

    /// Adds a route for each match of an entry.
    fn entry(
        &mut self,
        page: &Page<'a>,
        http: &SettingsTable<'a>,
        (hosts, namespace): (&[String], Option<&str>),
        found: &mut ImportedRoutes,
    ) -> Result<(), ImportError> {
        for key in ["redirect", "directResponse", "delegate"] {
            if let Some((key, value)) = http.get(key) {
                let bound = "a route to a destination: the proxy forwards to upstreams only";
                return Err(ImportError::new(http.at(key), value, bound));
            }
        }
        let route = self.route(page, http, namespace, &mut found.imported)?;
        for key in NOT_CARRIED {
            http.nearly(key, "the proxy does nothing of the kind", &mut found.imported);
        }
        let retries = http.table("retries")?;
        let retry_on = retries.and_then(|it| it.text("retryOn")).unwrap_or_default();
        let matches = http.list("match")?;
        let all = if matches.is_empty() { vec![None] } else { matches.iter().map(Some).collect() };
        for one in all {
            found.imported.begin(page.document);
            let read = MatchedRequests::of(one, hosts, &mut found.imported).and_then(|wanted| {
                let MatchedRequests { matched, hosts } = wanted;
                let (strip_path, path) = rewritten(http, &matched, &mut found.imported)?;
                Ok(ImportedRoute {
                    source_path: one.unwrap_or(http).path.clone(),
                    exact: matched.exact,
                    host: hosts,
                    strip_path,
                    upstream: route.upstream.iter().map(|url| format!("{url}{path}")).collect(),
                    retry: RepeatedRequests {
                        grpc_methods: matched.grpc_methods(retry_on),
                        methods: matched.methods,
                        replay_limit: None,
                    },
                    path: matched.path,
                    ..route.clone()
                })
            });
            match read {
                Ok(route) => route_parts::add(route, found),
                Err(error) => found.imported.entry(Err(error)),
            }
        }
        found.imported.note(
            "Istio repeats requests of every method; the proxy repeats those that are idempotent or have an \
             Idempotency-Key: see retry.methods and retry.idempotency_key.",
        );
        Ok(())
    }

    /// The route of an entry, without the requests that its matches take.
    fn route(
        &mut self,
        page: &Page<'a>,
        http: &SettingsTable<'a>,
        namespace: Option<&str>,
        imported: &mut Imported,
    ) -> Result<ImportedRoute, ImportError> {
        let name = http.text("name").map_or_else(|| kubernetes::name(page.tree), str::to_owned);
        let servers = self.servers(http, namespace, imported)?;
        imported.begin(page.document);
        let headers = headers(http, imported)?;
        let before = imported.policies.len();
        let policy = SettingsTable::exact(http.path.clone(), http.map());
        policy.ignore(&istio::ROUTE);
        istio::route(&policy, &name, &mut self.rules, imported)?;
        let scheme = if servers.tls.is_some() { "https" } else { "http" };
        Ok(ImportedRoute {
            name,
            document: page.document,
            source_path: http.path.clone(),
            exact: false,
            listen: None,
            host: Vec::new(),
            path: "/".to_owned(),
            strip_path: false,
            upstream: servers.authorities.iter().map(|it| format!("{scheme}://{it}")).collect(),
            http: servers.http,
            keep_host: true,
            max_in_flight: servers.max_in_flight,
            connect_timeout: servers.connect_timeout,
            retry: RepeatedRequests::default(),
            headers,
            tls: servers.tls.and_then(ServerTls::written),
            // OK because a policy that was read was added.
            policy: imported.policies[before].policy,
        })
    }

    /// The servers of the destinations of an entry.
    fn servers(
        &self,
        http: &SettingsTable<'a>,
        namespace: Option<&str>,
        imported: &mut Imported,
    ) -> Result<RouteServers, ImportError> {
        let mut parts = Vec::new();
        for part in http.list("route")? {
            let weight = part.count("weight", (0, u32::MAX))?.unwrap_or(0);
            parts.push((u64::from(weight), part));
        }
        let parts = by_weight(&http.at("route"), parts, imported);
        let mut all = RouteServers::default();
        for (number, part) in parts.iter().enumerate() {
            let destination = part.table("destination")?;
            let destination = destination.filter(|it| it.text("host").is_some());
            let Some(destination) = destination else {
                return Err(ImportError::new(part.path.clone(), "no destination.host", "a host"));
            };
            let why = "the proxy calls the service, which chooses among all of its pods";
            destination.nearly("subset", why, imported);
            let one = HostTrafficPolicy::servers(&self.traffic, &destination, namespace, imported)?;
            if number == 0 {
                all = one;
            } else if one.tls == all.tls {
                all.authorities.extend(one.authorities);
            } else {
                let why = "a route of the proxy has the TLS of one destination: the first is taken";
                imported.leave_out(part.path.clone(), one.authorities.join(", "), why);
            }
        }
        if all.authorities.is_empty() {
            return Err(ImportError::new(http.at("route"), "none", "a list of destinations"));
        }
        Ok(all)
    }
}

/// The requests of one match.
struct MatchedRequests {
    matched: RouteMatch,
    hosts: Vec<String>,
}

impl MatchedRequests {
    /// Reads a match; none takes all requests of the hosts.
    fn of(
        one: Option<&SettingsTable<'_>>,
        hosts: &[String],
        imported: &mut Imported,
    ) -> Result<Self, ImportError> {
        let mut matched = RouteMatch { path: "/".to_owned(), ..RouteMatch::default() };
        let mut hosts = hosts.to_vec();
        let Some(table) = one else { return Ok(Self { matched, hosts }) };
        for key in CONDITIONS {
            if let Some((key, value)) = table.get(key) {
                return Err(ImportError::new(table.at(key), value, BY_HOST_AND_PATH));
            }
        }
        table.nearly("ignoreUriCase", "paths of the proxy are compared with their case", imported);
        table.nearly("gateways", "the proxy takes requests from programs beside it", imported);
        if let Some(uri) = table.table("uri")? {
            let kinds = [("prefix", false), ("exact", true)];
            let given =
                kinds.into_iter().find_map(|(key, exact)| Some((key, uri.text(key)?, exact)));
            let Some((key, text, exact)) = given else {
                let value = Value::Object(uri.map().clone());
                return Err(ImportError::new(uri.path, value, "a prefix or an exact path"));
            };
            matched.path = route_parts::path(&uri.at(key), text)?;
            matched.exact = exact;
            if exact {
                let why = "a route of the proxy takes the paths below it, too";
                imported.leave_out(uri.at(key), text, why);
            } else if !matched.path.ends_with('/') {
                imported.note(
                    "Istio's prefix /a takes /ab too; the path of a proxy's route ends at a slash.",
                );
            }
        }
        if let Some(method) = table.table("method")? {
            let text = ["exact", "regex"].into_iter().find_map(|key| method.text(key));
            let Some(listed) = text.and_then(methods) else {
                let value = Value::Object(method.map().clone());
                return Err(ImportError::new(method.path, value, BY_HOST_AND_PATH));
            };
            let why =
                "a route of the proxy takes all methods; those that are not listed are sent once";
            imported.leave_out(method.path, listed.join(", "), why);
            matched.methods = listed;
        }
        if let Some(name) = table.table("authority")? {
            match name.text("exact") {
                Some(exact) => hosts = vec![exact.split(':').next().unwrap_or(exact).to_owned()],
                None => {
                    let value = Value::Object(name.map().clone());
                    return Err(ImportError::new(name.path, value, "an exact authority"));
                }
            }
        }
        Ok(Self { matched, hosts })
    }
}

/// The hosts of a service in all forms in which callers write them; none for all.
fn names<'h>(hosts: impl Iterator<Item = &'h str>, namespace: Option<&str>) -> Vec<String> {
    let mut all = Vec::new();
    for host in hosts {
        if host == "*" {
            return Vec::new();
        }
        all.push(host.to_ascii_lowercase());
        if let Some(namespace) = namespace.filter(|_| !host.contains('.')) {
            let ends = ["", ".svc", ".svc.cluster.local"];
            all.extend(
                ends.iter().map(|end| format!("{host}.{namespace}{end}").to_ascii_lowercase()),
            );
        }
    }
    all
}

/// Whether the path of the route is left out upstream, and the path of the upstream's URL.
fn rewritten(
    http: &SettingsTable<'_>,
    matched: &RouteMatch,
    imported: &mut Imported,
) -> Result<(bool, String), ImportError> {
    let Some(table) = http.table("rewrite")? else { return Ok((false, String::new())) };
    let why = "the proxy sends the host of the upstream's URL, or that of the caller";
    table.nearly("authority", why, imported);
    if let Some((key, value)) = table.get("uriRegexRewrite") {
        let bound = "left out: the proxy rewrites a prefix, and no expression";
        return Err(ImportError::new(table.at(key), value, bound));
    }
    match table.text("uri") {
        Some(to) => rewrite(&table.at("uri"), matched, to),
        None => Ok((false, String::new())),
    }
}

/// Headers that the entry sets on requests.
fn headers(
    http: &SettingsTable<'_>,
    imported: &mut Imported,
) -> Result<BTreeMap<String, String>, ImportError> {
    let mut headers = BTreeMap::new();
    let Some(table) = http.table("headers")? else { return Ok(headers) };
    table.nearly("response", "the proxy does not change replies", imported);
    let Some(request) = table.table("request")? else { return Ok(headers) };
    let why = "the proxy sets headers, and neither adds to those of the caller nor removes any";
    request.nearly("add", why, imported);
    request.nearly("remove", why, imported);
    let Some(set) = request.table("set")? else { return Ok(headers) };
    for (name, value) in set.entries() {
        let text = value.as_str().unwrap_or_default();
        if settable(&set.at(name), name, text, imported) {
            headers.insert(name.to_ascii_lowercase(), text.to_owned());
        }
    }
    Ok(headers)
}
