//! gRPC's service config (gRFC A6): the engine reads it, and here its entries get names.

use serde::Deserialize;
use serde_json::Value;
use stagger_core::service_config::ServiceConfig;

use crate::table::SettingsTable;
use crate::{ImportError, ImportSource, Imported};

pub(crate) fn import(tree: &Value) -> Result<Imported, ImportError> {
    let config = ServiceConfig::deserialize(tree)
        .map_err(|error| ImportError::new("", error, "a service config as gRFC A6 has it"))?;
    let mut imported = Imported::new(ImportSource::Grpc);
    let Some(root) = tree.as_object() else { return Ok(imported) };
    let root = SettingsTable::new("", root);
    let entries = root.get("methodConfig").and_then(|(_, list)| list.as_array());
    for (number, entry) in entries.into_iter().flatten().enumerate() {
        let Some(entry) = entry.as_object() else { continue };
        let entry = SettingsTable::new(format!("methodConfig.{number}"), entry);
        names(&entry, &config, &mut imported);
        rest(&entry, &mut imported)?;
    }
    let throttled = root.get("retryThrottling").is_some();
    root.leave_rest(&mut imported, |_| "not about retries");
    if !throttled {
        imported.note(
            "The service has no retryThrottling, so the budget is unlimited, as gRPC has it; \
             [budget.window] would bound the retries of an outage.",
        );
    }
    imported.note("Retried codes belong to the caller: stagger::service_config::MethodPolicy classifies by them.");
    Ok(imported)
}

/// One policy a name: the entry is for all of them.
fn names(entry: &SettingsTable<'_>, config: &ServiceConfig, imported: &mut Imported) {
    let names = entry.get("name").and_then(|(_, list)| list.as_array());
    for name in names.into_iter().flatten() {
        let part = |key| name.get(key).and_then(Value::as_str).unwrap_or_default();
        let (service, method) = (part("service"), part("method"));
        let shown = match (service, method) {
            ("", _) => "default".to_owned(),
            (service, "") => service.to_owned(),
            (service, method) => format!("{service}/{method}"),
        };
        if let Some(found) = config.method(&format!("/{service}/{method}")) {
            imported.add(&shown, *found.policy());
        }
    }
}

fn rest(entry: &SettingsTable<'_>, imported: &mut Imported) -> Result<(), ImportError> {
    entry.get("timeout");
    for (rule, codes) in
        [("retryPolicy", "retryableStatusCodes"), ("hedgingPolicy", "nonFatalStatusCodes")]
    {
        let Some(rule) = entry.table(rule)? else { continue };
        for known in
            ["maxAttempts", "initialBackoff", "maxBackoff", "backoffMultiplier", "hedgingDelay"]
        {
            rule.get(known);
        }
        rule.nearly(codes, "which codes are retried is said where calls are classified", imported);
        rule.leave_rest(imported, |_| "no such setting here");
    }
    entry.leave_rest(imported, |key| match key {
        "waitforready" => "a matter of the channel",
        "maxrequestmessagebytes" | "maxresponsemessagebytes" => "a matter of the transport",
        _ => "not about retries",
    });
    Ok(())
}
