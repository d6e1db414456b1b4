//! The routes of an import as `routes.toml` of the proxy, or as one object, and the comments of both kinds of import.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Map, Value, json};
use stagger_import::{ImportedRoute, ImportedRoutes};

use crate::render::wrapped;
use crate::streams::USUAL_WIDTH;

/// Columns of a comment, whose lines but the first are indented.
const COMMENT: usize = USUAL_WIDTH - "#   ".len();

/// The address of routes whose source names none: that of a proxy without settings.
const LISTEN: &str = "127.0.0.1:7878";

/// The file of routes. `place` names the settings that a route comes from.
pub(super) fn routes_toml(
    found: &ImportedRoutes,
    remarks: &[String],
    place: impl Fn(&ImportedRoute) -> String,
) -> String {
    let sources: Vec<&str> = found.imported.sources.iter().map(|source| source.name()).collect();
    let mut page =
        format!("# Imported from {} by `stagger import --to routes`.\n", sources.join(", "));
    remarks.iter().for_each(|line| comment(&mut page, line));
    let without: Vec<&str> = found
        .routes
        .iter()
        .filter(|route| route.listen.is_none())
        .map(|route| route.name.as_str())
        .collect();
    if !without.is_empty() {
        page.push_str("\n[proxy]\n");
        let names = without.join(", ");
        comment(&mut page, &format!("No listener in the settings of {names}: loopback is chosen."));
        let _ = writeln!(page, "listen = \"{LISTEN}\"");
    }
    for route in &found.routes {
        page.push('\n');
        comment(&mut page, &place(route));
        let routes = BTreeMap::from([(route.name.as_str(), route)]);
        let written = toml::to_string(&BTreeMap::from([("route", routes)]));
        page += &written.expect("every route can be written");
    }
    page
}

/// The object.
pub(super) fn routes_json(found: &ImportedRoutes, left_out: Vec<Value>) -> String {
    let written = |route| serde_json::to_value(route).expect("every route can be written");
    let routes: Map<String, Value> =
        found.routes.iter().map(|route| (route.name.clone(), written(route))).collect();
    let page = json!({
        "from": found.imported.sources.iter().map(|source| source.name()).collect::<Vec<_>>(),
        "routes": routes,
        "left_out": left_out,
        "notes": found.imported.notes,
    });
    format!("{page:#}\n")
}

/// A remark as a comment of TOML.
pub(super) fn comment(page: &mut String, line: &str) {
    let parts = wrapped(&line.replace(['\n', '\r'], " "), COMMENT);
    for (number, part) in parts.iter().enumerate() {
        let indent = if number > 0 { "  " } else { "" };
        let _ = writeln!(page, "# {indent}{part}");
    }
}
