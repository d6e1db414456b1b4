//! The requests that Envoy's virtual hosts and routes take, as far as a route of the proxy can say it.

use serde_json::Value;

use super::route_parts::{self, BY_HOST_AND_PATH, RouteMatch, methods};
use crate::table::SettingsTable;
use crate::{ImportError, Imported};

/// Conditions of a match beside the path and the headers.
const CONDITIONS: [&str; 6] = [
    "query_parameters",
    "runtime_fraction",
    "runtime",
    "tls_context",
    "dynamic_metadata",
    "cookies",
];

/// The hosts of a virtual host; none for all.
pub(super) fn domains(
    table: &SettingsTable<'_>,
    imported: &mut Imported,
) -> Result<Vec<String>, ImportError> {
    let Some((key, value)) = table.get("domains") else { return Ok(Vec::new()) };
    let all: Vec<&str> = value.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if all.contains(&"*") {
        return Ok(Vec::new());
    }
    let mut hosts = Vec::new();
    for domain in &all {
        let host = match domain.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
            _ => domain,
        };
        let name = host.strip_prefix("*.").unwrap_or(host);
        if name.is_empty() || name.contains(['*', ':', '/']) {
            let why = "a host of the proxy is a whole name, or *. before one";
            imported.leave_out(table.at(key), format!("{domain:?}"), why);
        } else if !hosts.contains(&host.to_ascii_lowercase()) {
            hosts.push(host.to_ascii_lowercase());
        }
    }
    if hosts.is_empty() && !all.is_empty() {
        let bound = "hosts that the proxy can match: whole names, or *. before one";
        return Err(ImportError::new(table.at(key), value, bound));
    }
    Ok(hosts)
}

/// The requests of a route.
///
/// # Errors
/// Conditions that would send other requests to the upstream too if they were left out.
pub(super) fn matched(
    route: &SettingsTable<'_>,
    imported: &mut Imported,
) -> Result<RouteMatch, ImportError> {
    let refused = |at: String, value: &Value| Err(ImportError::new(at, value, BY_HOST_AND_PATH));
    let Some(table) = route.table("match")? else {
        return Err(ImportError::new(route.path.clone(), "no match", "a route with a match"));
    };
    for key in CONDITIONS {
        if let Some((key, value)) = table.get(key) {
            return refused(table.at(key), value);
        }
    }
    let mut matched = RouteMatch { grpc: table.has("grpc"), ..RouteMatch::default() };
    for header in table.list("headers")? {
        let name = header.text("name").unwrap_or_default().to_ascii_lowercase();
        let value = exact_value(&header).filter(|_| !header.has("invert_match"));
        match (name.as_str(), value.as_deref(), value.as_deref().and_then(methods)) {
            (":method", _, Some(listed)) => {
                let why = "a route of the proxy takes all methods; those that are not listed are sent once";
                imported.leave_out(header.path.clone(), listed.join(", "), why);
                matched.methods = listed;
            }
            ("content-type", Some(value), _) if value.starts_with("application/grpc") => {
                matched.grpc = true;
            }
            _ => return Err(ImportError::new(header.path.clone(), name, BY_HOST_AND_PATH)),
        }
    }
    table.nearly("case_sensitive", "paths of the proxy are compared with their case", imported);
    for (key, exact) in [("prefix", false), ("path_separated_prefix", false), ("path", true)] {
        if let Some((name, value)) = table.get(key) {
            matched.path = route_parts::path(&table.at(name), value.as_str().unwrap_or_default())?;
            matched.exact = exact;
            if exact {
                let why = "a route of the proxy takes the paths below it, too";
                imported.leave_out(table.at(name), value, why);
            } else if key == "prefix" && !matched.path.ends_with('/') {
                imported.note(
                    "Envoy's prefix /a takes /ab too; the path of a proxy's route ends at a slash.",
                );
            }
            return Ok(matched);
        }
    }
    let given = table.entries().find(|(key, _)| !["headers", "grpc", "name"].contains(key));
    match given {
        Some((key, value)) => Err(ImportError::new(
            table.at(key),
            value,
            "a prefix or a path: the proxy has no other",
        )),
        None => Err(ImportError::new(table.path, "no path", "a prefix or a path")),
    }
}

/// The text that a header must have, or must begin with.
pub(super) fn exact_value(header: &SettingsTable<'_>) -> Option<String> {
    let old = ["exact_match", "prefix_match"].into_iter().find_map(|key| header.text(key));
    if let Some(text) = old {
        return Some(text.to_owned());
    }
    let expression = |table: &SettingsTable<'_>, key| {
        table.table(key).ok().flatten().and_then(|it| it.text("regex").map(str::to_owned))
    };
    if let Some(regex) = expression(header, "safe_regex_match") {
        return Some(regex);
    }
    let matcher = header.table("string_match").ok()??;
    let text = ["exact", "prefix"].into_iter().find_map(|key| matcher.text(key));
    text.map(str::to_owned).or_else(|| expression(&matcher, "safe_regex"))
}
