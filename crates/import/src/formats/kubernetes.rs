//! The parts that all resources of Kubernetes have.

use serde_json::{Map, Value};

use crate::table::SettingsTable;

/// Keys of a resource beside its `spec`.
const COMMON: [&str; 4] = ["apiVersion", "kind", "metadata", "status"];

/// The kind of a resource, if its `apiVersion` is of this group.
pub(super) fn kind<'a>(tree: &'a Value, group: &str) -> Option<&'a str> {
    let version = tree.get("apiVersion")?.as_str()?;
    let (own, _) = version.split_once('/')?;
    (own == group).then(|| tree.get("kind")?.as_str()).flatten()
}

/// Whether a document is a resource of any group.
pub(super) fn is_resource(tree: &Value) -> bool {
    tree.get("apiVersion").is_some() && tree.get("kind").is_some()
}

/// `metadata.name`, or the kind in lower case where there is none.
pub(super) fn name(tree: &Value) -> String {
    let named = tree.get("metadata").and_then(|metadata| metadata.get("name"));
    let kind = tree.get("kind").and_then(Value::as_str).unwrap_or("policy");
    named.and_then(Value::as_str).map_or_else(|| kind.to_lowercase(), str::to_owned)
}

/// The resource as a table whose keys have one spelling.
pub(super) fn resource<'a>(path: &str, map: &'a Map<String, Value>) -> SettingsTable<'a> {
    let table = SettingsTable::exact(path, map);
    table.ignore(&COMMON);
    table
}

/// The part of a host's name before its namespace: `orders` of `orders.shop.svc.cluster.local`.
pub(super) fn short(host: &str) -> &str {
    host.split('.').next().unwrap_or(host)
}
