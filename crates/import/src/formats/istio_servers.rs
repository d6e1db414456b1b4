//! The destinations of Istio's routes as servers: names, ports, and the traffic policy of their `DestinationRule`.

use serde_json::{Map, Value};
use stagger_core::Span;

use super::format::Page;
use super::istio::FORM;
use super::kubernetes::short;
use super::route_parts::{RouteServers, authority};
use crate::document::below;
use crate::routes::ServerTls;
use crate::spans::go;
use crate::table::SettingsTable;
use crate::{ImportError, Imported};

/// The longest time for a connection that a route may have.
const LONGEST: Span = Span::from_secs(3_600);

/// The traffic policy of a host.
pub(super) struct HostTrafficPolicy<'a> {
    host: &'a str,
    document: usize,
    table: SettingsTable<'a>,
}

impl<'a> HostTrafficPolicy<'a> {
    pub(super) fn of_rule(page: &Page<'a>, map: &'a Map<String, Value>) -> Option<Self> {
        let spec = map.get("spec")?.as_object()?;
        let host = spec.get("host")?.as_str()?;
        let policy = spec.get("trafficPolicy")?.as_object()?;
        let path = page.at(&below("spec", "trafficPolicy"));
        Some(Self { host, document: page.document, table: SettingsTable::exact(path, policy) })
    }

    /// The servers of a destination.
    pub(super) fn servers(
        traffic: &[Self],
        destination: &SettingsTable<'_>,
        namespace: Option<&str>,
        imported: &mut Imported,
    ) -> Result<RouteServers, ImportError> {
        let host = destination.text("host").unwrap_or_default();
        let full = match namespace {
            Some(namespace) if !host.contains('.') => {
                format!("{host}.{namespace}.svc.cluster.local")
            }
            _ => host.to_owned(),
        };
        let port =
            destination.table("port")?.map_or(Ok(None), |it| it.count("number", (1, 65_535)))?;
        let mut servers = RouteServers::default();
        if let Some(traffic) = traffic.iter().find(|it| short(it.host) == short(host)) {
            imported.begin(traffic.document);
            read_traffic(&traffic.table, port, &mut servers, imported)?;
        }
        let usual = if servers.tls.is_some() { 443 } else { 80 };
        if port.is_none() {
            imported.note(
                "A destination without a port is a service with one port: the proxy calls port 80, or 443 \
                 with TLS.",
            );
        }
        servers.authorities = vec![authority(&full, port.unwrap_or(usual))];
        Ok(servers)
    }
}

/// The parts of a traffic policy that say how servers are reached.
fn read_traffic(
    table: &SettingsTable<'_>,
    port: Option<u32>,
    servers: &mut RouteServers,
    imported: &mut Imported,
) -> Result<(), ImportError> {
    let mut tls = table.table("tls")?;
    for level in table.list("portLevelSettings")? {
        let own = level.table("port")?.map_or(Ok(None), |it| it.count("number", (1, 65_535)))?;
        if own.is_some() && own == port {
            tls = level.table("tls")?.or(tls);
        }
    }
    if let Some(tls) = tls {
        servers.tls = read_tls(&tls, imported)?;
    }
    let Some(pool) = table.table("connectionPool")? else { return Ok(()) };
    if let Some(tcp) = pool.table("tcp")? {
        let time = tcp.span("connectTimeout", go, FORM)?;
        servers.connect_timeout = time.filter(|it| !it.is_zero() && *it <= LONGEST);
    }
    if let Some(http) = pool.table("http")? {
        let most = http.count("http2MaxRequests", (0, u32::MAX))?;
        servers.max_in_flight = most.map(|most| most.clamp(1, 100_000));
        servers.http = http.text("h2UpgradePolicy").filter(|it| *it == "UPGRADE").map(|_| "2");
    }
    Ok(())
}

fn read_tls(
    table: &SettingsTable<'_>,
    imported: &mut Imported,
) -> Result<Option<ServerTls>, ImportError> {
    let mode = table.text("mode").unwrap_or("DISABLE");
    match mode {
        "DISABLE" => return Ok(None),
        "ISTIO_MUTUAL" => {
            let why =
                "certificates of the mesh are its sidecar's: the proxy speaks plain HTTP to it";
            imported.leave_out(table.at("mode"), mode, why);
            return Ok(None);
        }
        "SIMPLE" | "MUTUAL" => {}
        other => {
            let bound = "one of DISABLE, SIMPLE, MUTUAL, ISTIO_MUTUAL";
            return Err(ImportError::new(table.at("mode"), other, bound));
        }
    }
    let why = "secrets of the cluster are not in the file: set the files in [route.NAME.tls]";
    table.nearly("credentialName", why, imported);
    table.nearly("insecureSkipVerify", "the proxy verifies every certificate", imported);
    table.nearly("caCrl", "the proxy reads no lists of revoked certificates", imported);
    let file = |key| table.text(key).map(str::to_owned);
    let mut tls = ServerTls {
        server_name: file("sni"),
        ca_file: file("caCertificates"),
        ..ServerTls::default()
    };
    tls.public_roots = tls.ca_file.as_ref().map(|_| false);
    if let (Some(chain), Some(key)) = (file("clientCertificate"), file("privateKey")) {
        (tls.cert_file, tls.key_file) = (Some(chain), Some(key));
    }
    if let Some((key, value)) = table.get("subjectAltNames") {
        let first = value.as_array().and_then(|all| all.first()?.as_str());
        match (first, &tls.server_name) {
            (Some(first), None) => tls.server_name = Some(first.to_owned()),
            (Some(first), Some(name)) if first == name => {}
            _ => {
                let why = "the proxy sends and checks one name, which is that of sni";
                imported.leave_out(table.at(key), value, why);
            }
        }
    }
    Ok(Some(tls))
}
