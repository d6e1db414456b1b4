//! The routes of Envoy's static configuration: listeners, virtual hosts, routes and their clusters.
//!
//! Envoy takes the first route of a virtual host that fits; the proxy takes the longest path. A route that an
//! earlier one hides is therefore left out.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use stagger_core::Policy;
use stagger_core::budget::BudgetPlan;

use super::envoy::{Around, Walk, deadline};
use super::envoy_clusters;
use super::envoy_listener::{Listen, config_name, listener};
use super::envoy_match::{domains, exact_value, matched};
use super::envoy_servers::{self, EnvoyCluster};
use super::format::Page;
use super::route_parts::{self, RouteMatch, by_weight, methods, rewrite, settable};
use super::{envoy_retry, kubernetes};
use crate::document::below;
use crate::key::plain;
use crate::routes::{ImportedRoute, ImportedRoutes, RepeatedRequests, ServerTls};
use crate::table::SettingsTable;
use crate::{ImportError, Imported};

/// Settings of a route that change requests or replies in ways that the proxy does not.
const NOT_CARRIED: [&str; 11] = [
    "cors",
    "rate_limits",
    "hash_policy",
    "request_mirror_policies",
    "internal_redirect_policy",
    "metadata_match",
    "host_rewrite_header",
    "host_rewrite_path_regex",
    "request_headers_to_remove",
    "response_headers_to_add",
    "response_headers_to_remove",
];

/// Whether a document has routes or clusters of Envoy.
pub(super) fn recognizes(tree: &Value) -> bool {
    let filter = tree.get("kind").is_some_and(|kind| kind == "EnvoyFilter");
    (filter || !kubernetes::is_resource(tree)) && holds(tree)
}

fn holds(tree: &Value) -> bool {
    match tree {
        Value::Object(map) => map.iter().any(|(key, value)| {
            ["virtualhosts", "loadassignment", "rds"].contains(&plain(key).as_str())
                || is_host(map)
                || holds(value)
        }),
        Value::Array(list) => list.iter().any(holds),
        _ => false,
    }
}

/// Whether a table is a virtual host: it has routes, each with a match.
fn is_host(map: &Map<String, Value>) -> bool {
    let routes = map.get("routes").and_then(Value::as_array);
    routes.is_some_and(|routes| routes.iter().any(|route| route.get("match").is_some()))
}

/// Reads the routes of all documents.
pub(super) fn routes(pages: &[Page<'_>], found: &mut ImportedRoutes) {
    let mut reader =
        EnvoyRoutes { budgets: Vec::new(), clusters: Vec::new(), discovered: Vec::new() };
    for page in pages {
        found.imported.begin(page.document);
        let read =
            envoy_clusters::find(&page.path, page.tree, &mut reader.budgets, &mut found.imported);
        found.imported.entry(read);
        envoy_servers::find(page, &page.path, page.tree, &mut reader.clusters);
        reader.discover(page, &page.path, page.tree, None);
    }
    let before = found.routes.len();
    for page in pages {
        found.imported.begin(page.document);
        reader.walk(page, &page.path, page.tree, None, found);
    }
    for (name, document, path, _) in &reader.discovered {
        let known = pages.iter().any(|page| has_config(page.tree, name));
        if !known {
            found.imported.begin(*document);
            let bound = "a route configuration that is in the files, not in a discovery service";
            found.imported.entry(Err(ImportError::new(path.clone(), name, bound)));
        }
    }
    if found.routes.len() > before {
        envoy_retry::notes(&mut found.imported);
    }
}

fn has_config(tree: &Value, name: &str) -> bool {
    match tree {
        Value::Object(map) => {
            (map.contains_key("virtual_hosts") && map.get("name").is_some_and(|it| it == name))
                || map.values().any(|value| has_config(value, name))
        }
        Value::Array(list) => list.iter().any(|value| has_config(value, name)),
        _ => false,
    }
}

struct EnvoyRoutes<'a> {
    budgets: Vec<envoy_clusters::EnvoyBudget>,
    clusters: Vec<EnvoyCluster<'a>>,
    /// Route configurations that listeners name: the name, its place, and the listener.
    discovered: Vec<(String, usize, String, Listen)>,
}

/// A virtual host, and the listener that its requests come from.
struct VirtualHost<'a> {
    name: &'a str,
    hosts: Vec<String>,
    listen: Listen,
    table: SettingsTable<'a>,
}

impl<'a> EnvoyRoutes<'a> {
    /// Notes the route configurations that listeners only name.
    fn discover(&mut self, page: &Page<'_>, path: &str, tree: &Value, listen: Option<&str>) {
        match tree {
            Value::Object(map) => {
                let own = listener(path, map, &mut Imported::default());
                let listen = own.as_deref().or(listen);
                let named = map.iter().find(|(key, _)| plain(key) == "rds");
                let named = named.and_then(|(key, rds)| Some((key, config_name(rds)?)));
                if let Some((key, name)) = named {
                    let entry = (name, page.document, below(path, key), listen.map(str::to_owned));
                    self.discovered.push(entry);
                }
                for (key, value) in map {
                    self.discover(page, &below(path, key), value, listen);
                }
            }
            Value::Array(list) => {
                for (number, value) in list.iter().enumerate() {
                    let at = below(path, &number.to_string());
                    self.discover(page, &at, value, listen);
                }
            }
            _ => {}
        }
    }

    /// Reads every virtual host below; `listen` is the listener around it.
    fn walk(
        &self,
        page: &Page<'a>,
        path: &str,
        tree: &'a Value,
        listen: Option<&str>,
        found: &mut ImportedRoutes,
    ) {
        match tree {
            Value::Object(map) => {
                if is_host(map) {
                    return self.virtual_host(page, path, map, listen, found);
                }
                let own = listener(path, map, &mut found.imported);
                let listen = own.as_deref().or(listen);
                let name = map.get("name").and_then(Value::as_str);
                let hosts = map.iter().find(|(key, _)| plain(key) == "virtualhosts");
                let named: Vec<&Listen> = match (hosts, listen, name) {
                    (Some(_), None, Some(name)) => {
                        let of = self.discovered.iter().filter(|it| it.0 == name);
                        of.map(|it| &it.3).collect()
                    }
                    _ => Vec::new(),
                };
                if hosts.is_some() {
                    not_carried(&SettingsTable::new(path, map), &mut found.imported);
                }
                for (key, value) in map {
                    match named.as_slice() {
                        [] => self.walk(page, &below(path, key), value, listen, found),
                        all => all.iter().for_each(|listen| {
                            self.walk(page, &below(path, key), value, listen.as_deref(), found);
                        }),
                    }
                }
            }
            Value::Array(list) => {
                for (number, value) in list.iter().enumerate() {
                    self.walk(page, &below(path, &number.to_string()), value, listen, found);
                }
            }
            _ => {}
        }
    }

    fn virtual_host(
        &self,
        page: &Page<'a>,
        path: &str,
        map: &'a Map<String, Value>,
        listen: Option<&str>,
        found: &mut ImportedRoutes,
    ) {
        let table = SettingsTable::new(path, map);
        not_carried(&table, &mut found.imported);
        let hosts = match domains(&table, &mut found.imported) {
            Ok(hosts) => hosts,
            Err(error) => return found.imported.entry(Err(error)),
        };
        let name = table.text("name").unwrap_or("envoy");
        let listen = listen.map(str::to_owned);
        let host = VirtualHost { name, hosts, listen, table };
        for route in host.table.list("routes").unwrap_or_default() {
            found.imported.begin(page.document);
            match self.route(page, &host, &route, &mut found.imported) {
                Ok(read) => route_parts::add(read, found),
                Err(error) => found.imported.entry(Err(error)),
            }
        }
    }

    fn route(
        &self,
        page: &Page<'a>,
        host: &VirtualHost<'a>,
        route: &SettingsTable<'a>,
        imported: &mut Imported,
    ) -> Result<ImportedRoute, ImportError> {
        let matched = matched(route, imported)?;
        let Some(action) = route.table("route")? else {
            let given = route.entries().map(|(key, _)| key).collect::<Vec<_>>().join(", ");
            let bound = "a route to a cluster: the proxy forwards to upstreams only";
            return Err(ImportError::new(route.path.clone(), given, bound));
        };
        not_carried(route, imported);
        not_carried(&action, imported);
        if let Some((key, value)) = action.get("regex_rewrite") {
            let bound = "left out: the proxy rewrites a prefix, and no expression";
            return Err(ImportError::new(action.at(key), value, bound));
        }
        let (strip_path, below) = match action.text("prefix_rewrite").filter(|to| !to.is_empty()) {
            None => (false, String::new()),
            Some(to) => rewrite(&action.at("prefix_rewrite"), &matched, to)?,
        };
        let servers = self.cluster(&action, imported)?.servers(imported)?;
        imported.begin(page.document);
        let scheme = if servers.tls.is_some() { "https" } else { "http" };
        let policy = self.policy(host, &action, imported)?;
        let retry_policy = action
            .table("retry_policy")?
            .map_or_else(|| host.table.table("retry_policy"), |it| Ok(Some(it)))?;
        Ok(ImportedRoute {
            name: route.text("name").unwrap_or(host.name).to_owned(),
            document: page.document,
            source_path: route.path.clone(),
            exact: matched.exact,
            listen: host.listen.clone(),
            host: host.hosts.clone(),
            path: matched.path.clone(),
            strip_path,
            upstream: servers
                .authorities
                .iter()
                .map(|it| format!("{scheme}://{it}{below}"))
                .collect(),
            http: servers.http,
            keep_host: keeps_host(&action, &servers.authorities, imported)?,
            max_in_flight: servers.max_in_flight,
            connect_timeout: servers.connect_timeout,
            retry: repeated((route, host), &matched, retry_policy.as_ref(), imported)?,
            headers: headers([&host.table, route], imported)?,
            tls: servers.tls.and_then(ServerTls::written),
            policy,
        })
    }

    fn cluster(
        &self,
        action: &SettingsTable<'a>,
        imported: &mut Imported,
    ) -> Result<&EnvoyCluster<'a>, ImportError> {
        let (at, name) = match action.table("weighted_clusters")? {
            Some(weighted) => {
                let mut parts = Vec::new();
                for part in weighted.list("clusters")? {
                    let weight = part.count("weight", (0, u32::MAX))?.unwrap_or(0);
                    parts.push((u64::from(weight), part.text("name").unwrap_or_default()));
                }
                let mut parts = by_weight(&weighted.path, parts, imported);
                if parts.len() > 1 {
                    let why = "a route of the proxy has the TLS and the limits of one cluster: the first is taken";
                    imported.leave_out(weighted.path.clone(), parts.join(", "), why);
                }
                parts.truncate(1);
                (weighted.path, parts.pop())
            }
            None => (action.at("cluster"), action.text("cluster")),
        };
        let bound = "the name of a cluster in the files";
        let Some(name) = name else { return Err(ImportError::new(at, "not named", bound)) };
        let cluster = self.clusters.iter().find(|cluster| cluster.name == name);
        let cluster = cluster.ok_or_else(|| ImportError::new(at, name, bound))?;
        imported.begin(cluster.document);
        Ok(cluster)
    }

    /// The policy of the route, that of its virtual host, or one attempt.
    fn policy(
        &self,
        host: &VirtualHost<'_>,
        action: &SettingsTable<'_>,
        imported: &mut Imported,
    ) -> Result<Policy, ImportError> {
        let around = Around::Route(&action.path, action.map());
        let own = action.table("retry_policy")?;
        let retry = own.map_or_else(|| host.table.table("retry_policy"), |own| Ok(Some(own)))?;
        let Some(retry) = retry else {
            let builder = Policy::builder().max_attempts(1).budget(BudgetPlan::Unlimited);
            let built = deadline(builder, around, imported)?.build();
            return built.map_err(|error| {
                ImportError::new(action.path.clone(), error.value(), error.bound())
            });
        };
        let before = imported.policies.len();
        Walk { budgets: &self.budgets }.policy(&retry, around, host.name, imported)?;
        // OK because a policy that was read was added.
        Ok(imported.policies[before].policy)
    }
}

/// The requests that are repeated: methods in the match, or in the request headers of the retry policy.
fn repeated(
    (route, host): (&SettingsTable<'_>, &VirtualHost<'_>),
    matched: &RouteMatch,
    retry: Option<&SettingsTable<'_>>,
    imported: &mut Imported,
) -> Result<RepeatedRequests, ImportError> {
    let limit =
        |table: &SettingsTable<'_>| table.count("per_request_buffer_limit_bytes", (0, u32::MAX));
    let given = limit(route)?.map_or_else(|| limit(&host.table), |limit| Ok(Some(limit)))?;
    let replay_limit = given.map(|limit| limit.min(MOST_KEPT));
    if let Some(given) = given.filter(|given| *given > MOST_KEPT) {
        imported.leave_out(route.path.clone(), given, "the proxy keeps at most 16 MiB of a body");
    }
    let mut repeated = RepeatedRequests { replay_limit, ..RepeatedRequests::default() };
    let Some(retry) = retry else { return Ok(repeated) };
    repeated.methods.clone_from(&matched.methods);
    repeated.grpc_methods = matched.grpc_methods(retry.text("retry_on").unwrap_or_default());
    for header in retry.list("retriable_request_headers")? {
        let of_method = header.text("name") == Some(":method");
        if let Some(listed) =
            exact_value(&header).as_deref().and_then(methods).filter(|_| of_method)
        {
            repeated.methods = listed;
            let carried = retry.at("retriable_request_headers");
            imported.left_out.retain(|left| left.path != carried);
        }
    }
    if repeated.methods.is_empty() && repeated.grpc_methods.is_empty() {
        imported.note(
            "Envoy repeats requests of every method; the proxy repeats those that are idempotent or have \
             an Idempotency-Key: see retry.methods and retry.idempotency_key.",
        );
    }
    Ok(repeated)
}

/// The most bytes of a body that the proxy keeps.
const MOST_KEPT: u32 = 16 << 20;

/// Whether servers see the caller's `Host`, as Envoy sends it unless told otherwise.
fn keeps_host(
    action: &SettingsTable<'_>,
    authorities: &[String],
    imported: &mut Imported,
) -> Result<bool, ImportError> {
    if action.flag("auto_host_rewrite")? == Some(true) {
        return Ok(false);
    }
    let Some((key, value)) = action.get("host_rewrite_literal") else { return Ok(true) };
    let literal = value.as_str().unwrap_or_default();
    let host = |authority: &String| authority.rsplit_once(':').map(|(host, _)| host.to_owned());
    if !authorities.iter().any(|it| it == literal || host(it).as_deref() == Some(literal)) {
        let why = "the proxy sends the host of the upstream's URL, or that of the caller";
        imported.leave_out(action.at(key), value, why);
    }
    Ok(false)
}

/// Headers that the virtual host and the route add.
fn headers(
    tables: [&SettingsTable<'_>; 2],
    imported: &mut Imported,
) -> Result<BTreeMap<String, String>, ImportError> {
    let mut headers = BTreeMap::new();
    for table in tables {
        for added in table.list("request_headers_to_add")? {
            let Some(header) = added.table("header")? else { continue };
            let (Some(name), Some(value)) = (header.text("key"), header.text("value")) else {
                continue;
            };
            if settable(&header.path, name, value, imported) {
                headers.insert(name.to_ascii_lowercase(), value.to_owned());
                imported.note(
                    "A header that the proxy sets replaces the caller's; Envoy may add to it.",
                );
            }
        }
    }
    Ok(headers)
}

fn not_carried(table: &SettingsTable<'_>, imported: &mut Imported) {
    for key in NOT_CARRIED {
        table.nearly(key, "the proxy does nothing of the kind", imported);
    }
}
