//! nginx: `proxy_next_upstream*` and its kin for gRPC, FastCGI, uwsgi and SCGI, at every place that passes requests on.
//!
//! Defaults: <https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_next_upstream> (after an error or a
//! timeout, as often as there are servers, 60 s to connect and between two reads). Each server of an upstream is tried
//! once, without a delay: <https://nginx.org/en/docs/http/ngx_http_upstream_module.html>.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use stagger_core::budget::BudgetPlan;
use stagger_core::{Backoff, Policy, Span};

use super::format::{Format, Page};
use crate::source::FormatInfo;
use crate::spans::nginx;
use crate::{ImportError, ImportSource, Imported, RetryLayer};

pub(super) const FORMAT: Format = Format { source: SOURCE, recognizes, import, export: None };

const SOURCE: ImportSource = ImportSource::new(&FormatInfo {
    name: "nginx",
    product: "nginx",
    documentation: "https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_next_upstream",
    layer: RetryLayer::Gateway,
    words: &[
        ("limits.max_attempts", "proxy_next_upstream_tries"),
        ("limits.deadline", "proxy_next_upstream_timeout"),
        ("limits.attempt_timeout", "proxy_read_timeout"),
        ("backoff", "proxy_next_upstream"),
    ],
});

const FORM: &str = "a time such as 500ms, 10s or 1m30s";
const FAMILIES: [&str; 5] = ["proxy", "grpc", "fastcgi", "uwsgi", "scgi"];
const READ: Span = Span::from_secs(60);

/// A document with a directive about the next server, or one that passes requests to an upstream with servers.
fn recognizes(tree: &Value) -> bool {
    let Some(map) = tree.as_object() else { return false };
    map.iter().any(|(key, value)| {
        let about =
            FAMILIES.iter().any(|family| key.starts_with(&format!("{family}_next_upstream")));
        about
            || (key.starts_with("upstream ") && value.get("server").is_some())
            || recognizes(value)
    })
}

/// Directives of a level and of those around it: the path and the value of each.
type Directives = BTreeMap<String, (String, String)>;

fn import(pages: &[Page<'_>], imported: &mut Imported) -> Result<(), ImportError> {
    for page in pages {
        imported.begin(page.document);
        let mut upstreams = BTreeMap::new();
        find_upstreams(page.tree, &mut upstreams);
        let Some(map) = page.map() else { continue };
        let level = Level { upstreams: &upstreams };
        let passes = level.walk(&page.path, map, &Directives::new(), imported);
        if passes == 0 {
            let settings = own(&page.path, map, &Directives::new(), imported);
            let read = level.one("nginx", &page.path, "proxy", &settings, None, imported);
            imported.entry(read);
        }
    }
    imported.note("nginx goes to the next server without a delay, and has no budget: it stops when each server was tried.");
    imported.note("nginx repeats a request that may have been processed only with non_idempotent; here the caller says whether a call may be repeated.");
    Ok(())
}

/// The number of servers of each upstream.
fn find_upstreams(tree: &Value, found: &mut BTreeMap<String, u32>) {
    for (key, value) in tree.as_object().into_iter().flatten() {
        if let Some(name) = key.strip_prefix("upstream ") {
            let servers = match value.get("server") {
                Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
                Some(Value::String(one)) => vec![one.as_str()],
                _ => Vec::new(),
            };
            let up = servers.iter().filter(|server| !server.split(' ').any(|word| word == "down"));
            found.insert(name.to_owned(), u32::try_from(up.count()).unwrap_or(u32::MAX));
        }
        find_upstreams(value, found);
    }
}

/// The settings of a level over those around it. Directives that there are not are left out.
fn own(
    path: &str,
    map: &Map<String, Value>,
    around: &Directives,
    imported: &mut Imported,
) -> Directives {
    let mut settings = around.clone();
    for (key, value) in map {
        let Some(value) = value.as_str() else { continue };
        let Some((family, name)) = key.split_once('_') else { continue };
        let at = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        let known =
            ["next_upstream", "next_upstream_tries", "next_upstream_timeout", "read_timeout"];
        if FAMILIES.contains(&family) && known.contains(&name) {
            imported.has_read(at.clone());
            settings.insert(key.clone(), (at, value.to_owned()));
        } else if name.starts_with("next_upstream") || name.starts_with("read_timeout") {
            imported.leave_out(at, value, "no such directive");
        }
    }
    settings
}

struct Level<'u> {
    upstreams: &'u BTreeMap<String, u32>,
}

impl Level<'_> {
    /// Every place below that passes requests on, and how many there are.
    fn walk(
        &self,
        path: &str,
        map: &Map<String, Value>,
        around: &Directives,
        imported: &mut Imported,
    ) -> usize {
        let settings = own(path, map, around, imported);
        let mut passes = 0;
        for family in FAMILIES {
            let target = map.get(&format!("{family}_pass")).and_then(Value::as_str);
            if let Some(target) = target {
                passes += 1;
                let name = host(target);
                let servers = self.upstreams.get(name).copied();
                let read =
                    self.one(name, path, family, &settings, Some((target, servers)), imported);
                imported.entry(read);
            }
        }
        for (key, value) in map {
            if let Some(inner) = value.as_object() {
                let at = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                passes += self.walk(&at, inner, &settings, imported);
            }
        }
        passes
    }

    fn one(
        &self,
        name: &str,
        path: &str,
        family: &str,
        settings: &Directives,
        target: Option<(&str, Option<u32>)>,
        imported: &mut Imported,
    ) -> Result<(), ImportError> {
        let get = |key: &str| settings.get(&format!("{family}_{key}"));
        let span = |key: &str| match get(key) {
            None => Ok(None),
            Some((at, value)) => {
                nginx(value).map(Some).ok_or_else(|| ImportError::new(at, value, FORM))
            }
        };
        let tries = match get("next_upstream_tries") {
            None => None,
            Some((at, value)) => {
                let bound = || ImportError::new(at, value, "a whole number");
                Some(value.parse::<u32>().map_err(|_| bound())?).filter(|tries| *tries > 0)
            }
        };
        let off = get("next_upstream").is_some_and(|(_, value)| value == "off");
        if let Some((at, value)) = get("next_upstream") {
            imported.leave_out(
                at,
                value,
                "which failures are retried is said where calls are classified",
            );
        }
        let servers = target.and_then(|(_, servers)| servers);
        let attempts = match (off, servers, tries) {
            (true, ..) => 1,
            (false, Some(servers), tries) => {
                tries.map_or(servers, |tries| tries.min(servers)).max(1)
            }
            (false, None, Some(tries)) => tries,
            (false, None, None) => {
                imported.note("A host that is no upstream of the file is taken as one server, which is tried once.");
                1
            }
        };
        let mut builder = Policy::builder()
            .max_attempts(attempts)
            .backoff(Backoff::constant(Span::ZERO))
            .budget(BudgetPlan::Unlimited)
            .attempt_timeout(span("read_timeout")?.unwrap_or(READ));
        imported.note("A read timeout is the silence between two reads; here it is the time of a whole attempt.");
        if let Some(limit) = span("next_upstream_timeout")?.filter(|limit| !limit.is_zero()) {
            imported.note("next_upstream_timeout starts no attempt after it; here it ends the one under way too.");
            builder = builder.deadline(limit);
        }
        let built = builder.build();
        let policy = built.map_err(|error| ImportError::new(path, error.value(), error.bound()))?;
        imported.add(SOURCE, name, path, policy);
        Ok(())
    }
}

/// The host of a target: `api` of `http://api/path`.
fn host(target: &str) -> &str {
    let rest = target.split_once("://").map_or(target, |(_, rest)| rest);
    let host = rest.split('/').next().unwrap_or(rest);
    if host.contains('$') { host } else { host.split(':').next().unwrap_or(host) }
}
