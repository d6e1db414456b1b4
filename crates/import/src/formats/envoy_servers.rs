//! The clusters of Envoy as the servers of a proxy's route: endpoints, TLS, the version of HTTP, and limits.
//!
//! Defaults: <https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/cluster/v3/cluster.proto> (a connection has
//! 5 s) and <https://www.envoyproxy.io/docs/envoy/latest/api-v3/extensions/transport_sockets/tls/v3/common.proto>
//! (without a trusted CA no certificate is verified).

use serde_json::{Map, Value};
use stagger_core::Span;

use super::format::Page;
use super::route_parts::{RouteServers, authority};
use crate::document::below;
use crate::key::plain;
use crate::routes::ServerTls;
use crate::spans::protobuf;
use crate::table::SettingsTable;
use crate::{ImportError, Imported};

/// Keys of a cluster that routes and weights do not have.
const CLUSTER: [&str; 7] = [
    "loadassignment",
    "hosts",
    "transportsocket",
    "tlscontext",
    "lbpolicy",
    "connecttimeout",
    "circuitbreakers",
];

/// Bounds of the proxy's limits.
const IN_FLIGHT: (u32, u32) = (1, 100_000);
const LONGEST: Span = Span::from_secs(3_600);

/// A cluster and its place.
pub(super) struct EnvoyCluster<'a> {
    pub(super) name: &'a str,
    pub(super) document: usize,
    path: String,
    map: &'a Map<String, Value>,
}

/// Every cluster below a tree.
pub(super) fn find<'a>(
    page: &Page<'a>,
    path: &str,
    tree: &'a Value,
    found: &mut Vec<EnvoyCluster<'a>>,
) {
    match tree {
        Value::Object(map) => {
            let name = map.get("name").and_then(Value::as_str);
            let is_cluster = map.keys().any(|key| CLUSTER.contains(&plain(key).as_str()));
            if let (Some(name), true) = (name, is_cluster && !map.contains_key("routes")) {
                let path = path.to_owned();
                return found.push(EnvoyCluster { name, document: page.document, path, map });
            }
            for (key, value) in map {
                find(page, &below(path, key), value, found);
            }
        }
        Value::Array(list) => {
            for (number, value) in list.iter().enumerate() {
                find(page, &below(path, &number.to_string()), value, found);
            }
        }
        _ => {}
    }
}

impl EnvoyCluster<'_> {
    /// Its servers.
    ///
    /// # Errors
    /// A cluster without endpoints in the file, and a transport that is neither plain nor TLS.
    pub(super) fn servers(&self, imported: &mut Imported) -> Result<RouteServers, ImportError> {
        let table = SettingsTable::new(self.path.clone(), self.map);
        let authorities = endpoints(&table, imported)?;
        if authorities.is_empty() {
            let bound = "a cluster whose endpoints are in the file, not in a discovery service";
            return Err(ImportError::new(self.path.clone(), self.name, bound));
        }
        let connect = table.span("connect_timeout", protobuf, "seconds such as 0.25s")?;
        Ok(RouteServers {
            authorities,
            tls: tls(&table, imported)?,
            http: version(&table, imported)?,
            connect_timeout: connect.filter(|span| !span.is_zero() && *span <= LONGEST),
            max_in_flight: max_requests(&table, imported)?,
        })
    }
}

fn endpoints(
    table: &SettingsTable<'_>,
    imported: &mut Imported,
) -> Result<Vec<String>, ImportError> {
    let mut authorities = Vec::new();
    let mut add = |address: Option<SettingsTable<'_>>| -> Result<(), ImportError> {
        let Some(address) = address else { return Ok(()) };
        match socket(&address)? {
            Some((host, port)) => authorities.push(authority(host, port)),
            None => imported.leave_out(
                address.path.clone(),
                "no socket_address",
                "the proxy reaches servers by host and port only",
            ),
        }
        Ok(())
    };
    for host in table.list("hosts")? {
        add(Some(host))?;
    }
    let mut behind = Vec::new();
    if let Some(assignment) = table.table("load_assignment")? {
        for locality in assignment.list("endpoints")? {
            if locality.count("priority", (0, 128))?.is_some_and(|priority| priority > 0) {
                behind.push(locality.path.clone());
                continue;
            }
            for entry in locality.list("lb_endpoints")? {
                let endpoint = entry.table("endpoint")?;
                add(endpoint.map_or(Ok(None), |endpoint| endpoint.table("address"))?)?;
            }
        }
    }
    for path in behind {
        imported.leave_out(path, "a lower priority", "the proxy has no servers for a failover");
    }
    authorities.dedup();
    Ok(authorities)
}

/// The host and the port of an address.
pub(super) fn socket<'a>(
    address: &SettingsTable<'a>,
) -> Result<Option<(&'a str, u32)>, ImportError> {
    let Some(socket) = address.table("socket_address")? else { return Ok(None) };
    let port = socket.count("port_value", (0, 65_535))?;
    Ok(socket.text("address").zip(port))
}

/// TLS to the servers of a cluster; `None` for plain HTTP.
fn tls(
    table: &SettingsTable<'_>,
    imported: &mut Imported,
) -> Result<Option<ServerTls>, ImportError> {
    let why = "the proxy has one TLS setting for all servers of a route";
    table.nearly("transport_socket_matches", why, imported);
    let old = table.table("tls_context")?;
    let context = match table.table("transport_socket")? {
        None if old.is_none() => return Ok(None),
        None => old,
        Some(socket) => {
            let config = socket
                .table("typed_config")?
                .map_or_else(|| socket.table("config"), |it| Ok(Some(it)))?;
            let kind =
                config.as_ref().and_then(|it| it.text("@type")).or_else(|| socket.text("name"));
            let kind = plain(kind.unwrap_or_default());
            if kind.ends_with("rawbuffer") {
                return Ok(None);
            }
            if !kind.ends_with("upstreamtlscontext") && !kind.ends_with(".tls") {
                let bound = "plain or TLS: the proxy speaks no other transport";
                return Err(ImportError::new(socket.path.clone(), kind, bound));
            }
            config
        }
    };
    let mut tls = ServerTls::default();
    let Some(context) = context else {
        unverified(&table.path, &mut tls, imported);
        return Ok(Some(tls));
    };
    tls.server_name = context.text("sni").map(str::to_owned);
    let common = context.table("common_tls_context")?;
    let Some(common) = common else {
        unverified(&context.path, &mut tls, imported);
        return Ok(Some(tls));
    };
    certificate(&common, &mut tls, imported)?;
    let combined = common.table("combined_validation_context")?;
    let validation = match combined {
        Some(combined) => combined.table("default_validation_context")?,
        None => common.table("validation_context")?,
    };
    trusted(validation.as_ref(), &context.path, &mut tls, imported)?;
    Ok(Some(tls))
}

fn certificate(
    common: &SettingsTable<'_>,
    tls: &mut ServerTls,
    imported: &mut Imported,
) -> Result<(), ImportError> {
    let why =
        "secrets of a discovery service are not in the file: set the files in [route.NAME.tls]";
    common.nearly("tls_certificate_sds_secret_configs", why, imported);
    common.nearly("validation_context_sds_secret_config", why, imported);
    if let Some(certificate) = common.list("tls_certificates")?.first() {
        let chain = file(certificate, "certificate_chain", imported)?;
        let key = file(certificate, "private_key", imported)?;
        if let (Some(chain), Some(key)) = (chain, key) {
            (tls.cert_file, tls.key_file) = (Some(chain), Some(key));
        }
    }
    Ok(())
}

fn trusted(
    validation: Option<&SettingsTable<'_>>,
    at: &str,
    tls: &mut ServerTls,
    imported: &mut Imported,
) -> Result<(), ImportError> {
    let Some(validation) = validation else {
        unverified(at, tls, imported);
        return Ok(());
    };
    match file(validation, "trusted_ca", imported)? {
        Some(ca) => (tls.ca_file, tls.public_roots) = (Some(ca), Some(false)),
        None if validation.has("system_root_certs") => {}
        None => unverified(&validation.path, tls, imported),
    }
    let typed = validation.list("match_typed_subject_alt_names")?;
    let typed = typed.iter().find_map(|name| exact(name.table("matcher").ok()??));
    let plain_names = validation.list("match_subject_alt_names")?;
    let name = typed.or_else(|| plain_names.into_iter().find_map(exact));
    match name {
        Some(name) if tls.server_name.is_none() => tls.server_name = Some(name),
        Some(name) if tls.server_name.as_ref() != Some(&name) => imported.leave_out(
            validation.path.clone(),
            name,
            "the proxy sends and checks one name, which is that of sni",
        ),
        _ => {}
    }
    Ok(())
}

fn exact(matcher: SettingsTable<'_>) -> Option<String> {
    matcher.text("exact").map(str::to_owned)
}

/// Envoy verifies nothing; the proxy always does.
fn unverified(at: &str, tls: &mut ServerTls, imported: &mut Imported) {
    tls.public_roots = None;
    let why = "Envoy verifies no certificate without a trusted_ca; the proxy verifies it by public roots: set \
               tls.ca_file for a CA of your own";
    imported.leave_out(at, "no trusted_ca", why);
}

/// The path of a data source.
fn file(
    table: &SettingsTable<'_>,
    key: &str,
    imported: &mut Imported,
) -> Result<Option<String>, ImportError> {
    let Some(source) = table.table(key)? else { return Ok(None) };
    let name = source.text("filename").map(str::to_owned);
    if name.is_none() {
        let why = "the proxy reads certificates and keys from files";
        imported.leave_out(source.path, "not a file", why);
    }
    Ok(name)
}

fn version(
    table: &SettingsTable<'_>,
    imported: &mut Imported,
) -> Result<Option<&'static str>, ImportError> {
    if table.has("http2_protocol_options") {
        return Ok(Some("2"));
    }
    let Some(options) = table.table("typed_extension_protocol_options")? else { return Ok(None) };
    let options = options.named().into_iter().find(|(key, _)| key.ends_with("HttpProtocolOptions"));
    let Some((_, options)) = options else { return Ok(None) };
    let Some(explicit) = options.table("explicit_http_config")? else { return Ok(None) };
    explicit.nearly("http3_protocol_options", "the proxy does not speak HTTP/3", imported);
    Ok(match explicit.has("http2_protocol_options") {
        true => Some("2"),
        false => explicit.has("http_protocol_options").then_some("1.1"),
    })
}

fn max_requests(
    table: &SettingsTable<'_>,
    imported: &mut Imported,
) -> Result<Option<u32>, ImportError> {
    let Some(breakers) = table.table("circuit_breakers")? else { return Ok(None) };
    for threshold in breakers.list("thresholds")? {
        if threshold.text("priority").is_none_or(|priority| priority == "DEFAULT")
            && let Some(most) = threshold.count("max_requests", (0, u32::MAX))?
        {
            let within = most.clamp(IN_FLIGHT.0, IN_FLIGHT.1);
            if within != most {
                let why = format!("a route of the proxy has from 1 to 100000: it is {within} here");
                imported.leave_out(threshold.at("max_requests"), most, why);
            }
            return Ok(Some(within));
        }
    }
    Ok(None)
}
