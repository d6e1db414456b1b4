//! The addresses of Envoy's listeners, and the route configurations that they only name.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use serde_json::{Map, Value};

use super::envoy_servers::socket;
use crate::Imported;
use crate::key::plain;
use crate::table::SettingsTable;

/// The address of a listener, if the settings name one.
pub(super) type Listen = Option<String>;

/// The name of a route configuration that is fetched from a discovery service.
pub(super) fn config_name(rds: &Value) -> Option<String> {
    let (_, name) = rds.as_object()?.iter().find(|(key, _)| plain(key) == "routeconfigname")?;
    name.as_str().map(str::to_owned)
}

/// The address of a table that is a listener. One with TLS is given loopback: the proxy has no TLS on that side.
pub(super) fn listener(path: &str, map: &Map<String, Value>, imported: &mut Imported) -> Listen {
    let chains = map.iter().find(|(key, _)| plain(key) == "filterchains");
    let (_, chains) = chains?;
    let table = SettingsTable::new(path, map);
    let address = table.table("address").ok()??;
    let (ip, port) = socket(&address).ok()??;
    let port = u16::try_from(port).ok()?;
    let Ok(ip) = ip.parse::<IpAddr>() else {
        imported.leave_out(address.path, ip, "the proxy listens on addresses, not on names");
        return None;
    };
    let secured = |chain: &Value| {
        let keys = chain.as_object().into_iter().flatten();
        keys.clone()
            .any(|(key, _)| ["transportsocket", "tlscontext"].contains(&plain(key).as_str()))
    };
    if chains.as_array().into_iter().flatten().any(secured) {
        let why = "the proxy has no TLS on the side of its clients: it listens on 127.0.0.1";
        imported.leave_out(table.at("filter_chains"), "TLS", why);
        return Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port)).to_string());
    }
    if !ip.is_loopback() {
        imported.note(&format!(
            "The proxy has no login: every program that reaches {} may use its routes.",
            SocketAddr::new(ip, port)
        ));
    }
    Some(SocketAddr::new(ip, port).to_string())
}
