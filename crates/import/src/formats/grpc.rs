//! gRPC's service config (gRFC A6): the engine reads each entry of `methodConfig`, and here it gets its names.
//!
//! Source: <https://github.com/grpc/proposal/blob/master/A6-client-retries.md>. A client makes at most 5 attempts,
//! whatever an entry allows. The generators of Google's clients (GAPIC) write entries without `maxAttempts`:
//! <https://google.aip.dev/client-libraries/4221>; their clients retry until the timeout.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use stagger_core::service_config::{MethodPolicy, RetryThrottling, ServiceConfig};
use stagger_core::{ConfigError, Policy};

use super::format::{Export, Format, Page};
use crate::export::grpc_text;
use crate::source::FormatInfo;
use crate::table::SettingsTable;
use crate::{ImportError, ImportSource, Imported, RetryLayer};

pub(super) const FORMAT: Format = Format {
    source: SOURCE,
    recognizes: |tree| {
        tree.as_object().is_some_and(|map| {
            map.contains_key("methodConfig") || map.contains_key("retryThrottling")
        })
    },
    import,
    export: Some(Export { write: grpc_text, comment: None }),
};

const SOURCE: ImportSource = ImportSource::new(&FormatInfo {
    name: "grpc",
    product: "gRPC",
    documentation: "https://github.com/grpc/grpc/blob/master/doc/service_config.md",
    layer: RetryLayer::Client,
    words: &[
        ("limits.max_attempts", "retryPolicy.maxAttempts"),
        ("limits.deadline", "methodConfig.timeout"),
        ("backoff.base", "retryPolicy.initialBackoff"),
        ("backoff.cap", "retryPolicy.maxBackoff"),
        ("backoff.factor", "retryPolicy.backoffMultiplier"),
        ("backoff", "retryPolicy.initialBackoff"),
        ("hedge.copies", "hedgingPolicy.maxAttempts"),
        ("hedge", "hedgingPolicy.hedgingDelay"),
        ("budget", "retryThrottling"),
    ],
});

/// The most attempts of a client that does not set another limit.
const MOST: u64 = 5;
const BOUND: &str = "a service config as gRFC A6 has it";

fn import(pages: &[Page<'_>], imported: &mut Imported) -> Result<(), ImportError> {
    for page in pages {
        imported.begin(page.document);
        if let Some(map) = page.map() {
            config(page, map, imported)?;
        }
    }
    imported.note("Retried codes belong to the caller: stagger::service_config::MethodPolicy classifies by them.");
    Ok(())
}

fn config(
    page: &Page<'_>,
    map: &Map<String, Value>,
    imported: &mut Imported,
) -> Result<(), ImportError> {
    let root = SettingsTable::exact(page.path.clone(), map);
    let mut throttling = root.get("retryThrottling").map(|(_, value)| value.clone());
    if let Some(given) = &throttling
        && let Err(error) = RetryThrottling::deserialize(given)
    {
        imported.entry(Err(ImportError::new(root.at("retryThrottling"), error, BOUND)));
        throttling = None;
    }
    let entries = root.get("methodConfig").and_then(|(_, list)| list.as_array());
    root.leave_rest(imported, |_| "not about retries");
    for (number, entry) in entries.into_iter().flatten().enumerate() {
        let Some(entry) = entry.as_object() else { continue };
        let entry = SettingsTable::exact(root.at(&format!("methodConfig.{number}")), entry);
        let read = names(&entry, throttling.as_ref(), imported);
        imported.entry(read);
    }
    if throttling.is_none() {
        imported.note(
            "The service has no retryThrottling, so the budget is unlimited, as gRPC has it; \
             [budget.window] would bound the retries of an outage.",
        );
    }
    Ok(())
}

/// One policy a name: the entry is for all of them.
fn names(
    entry: &SettingsTable<'_>,
    throttling: Option<&Value>,
    imported: &mut Imported,
) -> Result<(), ImportError> {
    let names = entry.get("name").and_then(|(_, list)| list.as_array());
    let unbounded = unbounded(entry);
    let mut alone: Map<String, Value> =
        entry.entries().map(|(key, value)| (key.to_owned(), value.clone())).collect();
    if unbounded && let Some(Value::Object(retry)) = alone.get_mut("retryPolicy") {
        retry.insert("maxAttempts".to_owned(), MOST.into());
    }
    let mut config = json!({ "methodConfig": [alone] });
    if let Some(throttling) = throttling {
        config["retryThrottling"] = throttling.clone();
    }
    let config = ServiceConfig::deserialize(&config)
        .map_err(|error| ImportError::new(entry.path.clone(), error, BOUND))?;
    rest(entry, unbounded, imported)?;
    let fresh = imported.mark();
    for name in names.into_iter().flatten() {
        let part = |key| name.get(key).and_then(Value::as_str).unwrap_or_default();
        let (service, method) = (part("service"), part("method"));
        let shown = match (service, method) {
            ("", _) => "default".to_owned(),
            (service, "") => service.to_owned(),
            (service, method) => format!("{service}/{method}"),
        };
        if let Some(found) = config.method(&format!("/{service}/{method}")) {
            let policy = whole(found, unbounded).map_err(entry.refused("timeout"))?;
            imported.again(fresh);
            imported.add(SOURCE, &shown, &entry.path, policy);
        }
    }
    Ok(())
}

/// Whether the entry has retries without a number of attempts.
fn unbounded(entry: &SettingsTable<'_>) -> bool {
    let retry = entry.get("retryPolicy").and_then(|(_, retry)| retry.as_object());
    retry.is_some_and(|retry| !retry.contains_key("maxAttempts"))
}

/// The policy of an entry; one without a number of attempts ends at its timeout.
fn whole(found: &MethodPolicy, unbounded: bool) -> Result<Policy, ConfigError> {
    let policy = *found.policy();
    if unbounded && policy.limits().deadline().is_some() {
        return policy.to_builder().unlimited_attempts().build();
    }
    Ok(policy)
}

fn rest(
    entry: &SettingsTable<'_>,
    unbounded: bool,
    imported: &mut Imported,
) -> Result<(), ImportError> {
    entry.get("timeout");
    for (rule, codes) in
        [("retryPolicy", "retryableStatusCodes"), ("hedgingPolicy", "nonFatalStatusCodes")]
    {
        let Some(rule) = entry.table(rule)? else { continue };
        for known in ["initialBackoff", "maxBackoff", "backoffMultiplier", "hedgingDelay"] {
            rule.get(known);
        }
        let attempts = rule.get("maxAttempts").and_then(|(_, value)| value.as_u64());
        if attempts.is_some_and(|attempts| attempts > MOST) {
            rule.nearly(
                "maxAttempts",
                "a client makes at most 5 attempts unless it sets another limit",
                imported,
            );
        }
        if unbounded && rule.path.ends_with("retryPolicy") {
            let why = "gRPC refuses such an entry; clients that Google generates retry until the timeout, and \
                       so does the policy (5 attempts without a timeout)";
            imported.leave_out(rule.at("maxAttempts"), "not set", why);
        }
        rule.nearly(codes, "which codes are retried is said where calls are classified", imported);
        rule.leave_rest(imported, |_| "no such setting here");
    }
    entry.leave_rest(imported, |key| match key {
        "waitforready" => "a matter of the channel",
        "maxrequestmessagebytes" | "maxresponsemessagebytes" => "a matter of the transport",
        "retrypolicy" | "hedgingpolicy" => {
            "gRPC ignores this spelling, so the calls are not retried"
        }
        _ => "not about retries",
    });
    Ok(())
}
