//! Envoy: the retry policies of routes, virtual hosts and other clients in it, and the retry budgets of clusters.
//!
//! Defaults: <https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/route/v3/route_components.proto> (`RouteAction`:
//! `timeout` 15 s; a virtual host's policy is that of each of its routes without one) and
//! <https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/core/v3/base.proto#config-core-v3-retrypolicy> (a retry
//! policy outside of routes: base interval 1 s).

use serde_json::{Map, Value};
use stagger_core::budget::BudgetPlan;
use stagger_core::{Policy, PolicyBuilder, Span};

use super::envoy_clusters::{self, EnvoyBudget};
use super::format::{Export, Format, Page};
use super::{envoy_retry, kubernetes};
use crate::export::envoy_text;
use crate::key::plain;
use crate::source::FormatInfo;
use crate::spans::protobuf;
use crate::table::SettingsTable;
use crate::{ImportError, ImportSource, Imported, RetryLayer};

pub(super) const FORMAT: Format = Format {
    source: SOURCE,
    recognizes,
    import,
    export: Some(Export { write: envoy_text, comment: Some("#") }),
};

pub(super) const SOURCE: ImportSource = ImportSource::new(&FormatInfo {
    name: "envoy",
    product: "Envoy",
    documentation: "https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/route/v3/route_components.proto",
    layer: RetryLayer::Mesh,
    words: &[
        ("limits.max_attempts", "retry_policy.num_retries"),
        ("limits.attempt_timeout", "retry_policy.per_try_timeout"),
        ("limits.deadline", "route.timeout"),
        ("backoff.base", "retry_policy.retry_back_off.base_interval"),
        ("backoff.cap", "retry_policy.retry_back_off.max_interval"),
        ("backoff", "retry_policy.retry_back_off"),
        ("hints", "retry_policy.rate_limited_retry_back_off"),
        ("budget", "circuit_breakers.thresholds.retry_budget"),
    ],
});

const FORM: &str = "seconds such as 0.025s";
const RETRIES: u32 = 1;
const TIMEOUT: Span = Span::from_secs(15);
/// The base interval outside of routes.
const CORE_BASE: Span = Span::from_secs(1);

/// Keys of a retry policy that only Envoy has, without spelling.
const OWN: [&str; 8] = [
    "numretries",
    "retryon",
    "pertrytimeout",
    "retrybackoff",
    "ratelimitedretrybackoff",
    "retryhostpredicate",
    "retriablestatuscodes",
    "retrypriority",
];

/// Keys of `RouteAction` and of `VirtualHost` that are not about retries.
const ROUTE: &str = "cluster weighted_clusters cluster_header cluster_specifier_plugin \
    inline_cluster_specifier_plugin metadata_match prefix_rewrite regex_rewrite path_rewrite_policy \
    host_rewrite_literal auto_host_rewrite host_rewrite_header host_rewrite_path_regex append_x_forwarded_host \
    idle_timeout early_data_policy retry_policy request_mirror_policies priority rate_limits include_vh_rate_limits \
    hash_policy cors max_grpc_timeout grpc_timeout_offset upgrade_configs internal_redirect_policy \
    internal_redirect_action max_internal_redirects max_stream_duration cluster_not_found_response_code name";

fn recognizes(tree: &Value) -> bool {
    let resource = kubernetes::is_resource(tree);
    let filter = tree.get("kind").is_some_and(|kind| kind == "EnvoyFilter");
    (!resource || filter) && (bare(tree.as_object()) || holds(tree))
}

/// Whether the whole document is one retry policy.
fn bare(map: Option<&Map<String, Value>>) -> bool {
    map.is_some_and(|map| {
        map.keys().any(|key| ["numretries", "retryon"].contains(&plain(key).as_str()))
    })
}

fn holds(tree: &Value) -> bool {
    match tree {
        Value::Object(map) => map.iter().any(|(key, value)| {
            let own = |known: &[&str]| {
                value.as_object().is_some_and(|inner| {
                    inner.keys().any(|key| known.contains(&plain(key).as_str()))
                })
            };
            match plain(key).as_str() {
                "retrypolicy" if own(&OWN) => true,
                "thresholds" => value
                    .as_array()
                    .into_iter()
                    .flatten()
                    .any(|it| it.get("retry_budget").is_some()),
                _ => holds(value),
            }
        }),
        Value::Array(list) => list.iter().any(holds),
        _ => false,
    }
}

fn import(pages: &[Page<'_>], imported: &mut Imported) -> Result<(), ImportError> {
    let mut budgets = Vec::new();
    for page in pages {
        imported.begin(page.document);
        let found = envoy_clusters::find(&page.path, page.tree, &mut budgets, imported);
        imported.entry(found);
    }
    for page in pages {
        imported.begin(page.document);
        let walk = Walk { budgets: &budgets };
        match page.map().filter(|map| bare(Some(map))) {
            Some(map) => {
                let policy = SettingsTable::new(page.path.clone(), map);
                let read = walk.policy(&policy, Around::Nothing, "envoy", imported);
                imported.entry(read);
            }
            None => walk.tree(&page.path, page.tree, ("envoy", None), imported),
        }
    }
    if !imported.policies.is_empty() {
        envoy_retry::notes(imported);
    }
    Ok(())
}

/// The settings that a retry policy stands in.
#[derive(Clone, Copy)]
pub(super) enum Around<'a> {
    /// None: a file that is one retry policy.
    Nothing,
    /// A `RouteAction`, with its path.
    Route(&'a str, &'a Map<String, Value>),
    /// Another client in Envoy, such as that of an authorization service.
    Client(&'a str, &'a Map<String, Value>),
}

/// A virtual host's retry policy: its path and its settings.
type Inherited<'a> = Option<(&'a str, &'a Map<String, Value>)>;

pub(super) struct Walk<'b> {
    pub(super) budgets: &'b [EnvoyBudget],
}

impl Walk<'_> {
    /// Every retry policy below, named by the nearest `name` around it.
    fn tree(
        &self,
        path: &str,
        tree: &Value,
        (name, host): (&str, Inherited<'_>),
        imported: &mut Imported,
    ) {
        let at = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        match tree {
            Value::Object(map) => {
                let name = map.get("name").and_then(Value::as_str).unwrap_or(name);
                let own = map
                    .iter()
                    .find(|(key, value)| plain(key) == "retrypolicy" && value.is_object());
                let own = own.and_then(|(key, value)| Some((at(key), value.as_object()?)));
                let is_host = map.contains_key("routes");
                if is_host {
                    hedging(&SettingsTable::new(path, map), imported);
                }
                let route = path.rsplit('.').next() == Some("route") || map.contains_key("cluster");
                if route && !is_host && (own.is_some() || host.is_some()) {
                    let (place, policy) = own.as_ref().map_or_else(
                        || host.unwrap_or((path, map)),
                        |(place, policy)| (place.as_str(), *policy),
                    );
                    let policy = SettingsTable::new(place, policy);
                    let read = self.policy(&policy, Around::Route(path, map), name, imported);
                    return imported.entry(read);
                }
                let host = match &own {
                    Some((place, policy)) if is_host => Some((place.as_str(), *policy)),
                    Some((place, policy)) => {
                        let policy = SettingsTable::new(place.as_str(), policy);
                        let read = self.policy(&policy, Around::Client(path, map), name, imported);
                        imported.entry(read);
                        host
                    }
                    None => host,
                };
                for (key, value) in map.iter().filter(|(key, _)| plain(key) != "retrypolicy") {
                    self.tree(&at(key), value, (name, host), imported);
                }
            }
            Value::Array(list) => {
                for (number, value) in list.iter().enumerate() {
                    self.tree(&at(&number.to_string()), value, (name, host), imported);
                }
            }
            _ => {}
        }
    }

    pub(super) fn policy(
        &self,
        table: &SettingsTable<'_>,
        around: Around<'_>,
        name: &str,
        imported: &mut Imported,
    ) -> Result<(), ImportError> {
        let core = matches!(around, Around::Client(..));
        let retries = table.count("num_retries", (0, u32::MAX - 1))?.unwrap_or(RETRIES);
        let usual = if core { CORE_BASE } else { envoy_retry::BASE };
        let intervals = table.table("retry_back_off")?;
        let keys = ("base_interval", "max_interval");
        let backoff = envoy_retry::backoff(intervals.as_ref(), keys, (protobuf, FORM), usual)?;
        if let Some(intervals) = intervals {
            intervals.leave_rest(imported, |_| "no such setting here");
        }
        let mut builder = Policy::builder().max_attempts(retries + 1).backoff(backoff);
        let limit = table.span("per_try_timeout", protobuf, FORM)?;
        if let Some(limit) = limit.filter(|limit| !limit.is_zero()) {
            builder = builder.attempt_timeout(limit);
        }
        builder = deadline(builder, around, imported)?;
        match table.table("rate_limited_retry_back_off")? {
            Some(limited) => {
                let keys = ("max_interval", "reset_headers");
                builder =
                    builder.hints(envoy_retry::hints(&limited, keys, (protobuf, FORM), imported)?);
            }
            None => envoy_retry::no_hints(imported),
        }
        let cluster = match around {
            Around::Route(_, map) | Around::Client(_, map) => {
                map.get("cluster").and_then(Value::as_str)
            }
            Around::Nothing => None,
        };
        let budget = self.budgets.iter().find(|budget| budget.is_for(cluster, self.budgets.len()));
        builder = builder.budget(budget.map_or(BudgetPlan::Unlimited, |budget| budget.plan));
        if budget.is_none() {
            envoy_retry::no_budget(imported);
        }
        table.leave_rest(imported, envoy_retry::why);
        let policy = builder.build().map_err(table.refused("per_try_timeout"))?;
        imported.add(SOURCE, name, &table.path, policy);
        Ok(())
    }
}

/// The route's timeout bounds all attempts; 0 means none.
pub(super) fn deadline(
    builder: PolicyBuilder,
    around: Around<'_>,
    imported: &mut Imported,
) -> Result<PolicyBuilder, ImportError> {
    let timeout = match around {
        Around::Nothing => {
            imported.note(
                "The timeout of the route, 15 s by default, is not in this file: set limits.deadline.",
            );
            return Ok(builder);
        }
        Around::Route(path, map) => {
            let route = SettingsTable::new(path, map);
            route.ignore(&ROUTE.split_whitespace().collect::<Vec<_>>());
            let timeout = route.span("timeout", protobuf, FORM)?;
            hedging(&route, imported);
            route.leave_rest(imported, |key| match key {
                "retrypolicytypedconfig" => {
                    "a retry policy of another type than RetryPolicy is not read"
                }
                _ => "no such setting of a route",
            });
            timeout.unwrap_or(TIMEOUT)
        }
        Around::Client(path, map) => {
            let client = SettingsTable::new(path, map);
            let own = client.span("timeout", protobuf, FORM)?;
            let uri = client.table("http_uri")?;
            let uri = uri.map_or(Ok(None), |uri| uri.span("timeout", protobuf, FORM))?;
            own.or(uri).unwrap_or(Span::ZERO)
        }
    };
    Ok(if timeout.is_zero() { builder } else { builder.deadline(timeout) })
}

fn hedging(table: &SettingsTable<'_>, imported: &mut Imported) {
    let why = "a hedged request after a timeout; say it as [hedge]: delay and copies";
    table.nearly("hedge_policy", why, imported);
}
