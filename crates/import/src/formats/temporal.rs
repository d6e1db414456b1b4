//! Temporal: retry policies of activities and workflows, beside their timeouts.
//!
//! Defaults: <https://docs.temporal.io/encyclopedia/retry-policies> (from 1 s, times 2, up to a hundred times the first
//! interval, without a limit of attempts).

use serde_json::{Map, Value};
use stagger_core::budget::BudgetPlan;
use stagger_core::{Backoff, Envelope, Factor, Jitter, Policy, Span};

use super::format::{Format, Page};
use crate::key::plain;
use crate::source::FormatInfo;
use crate::spans::go;
use crate::table::SettingsTable;
use crate::{ImportError, ImportSource, Imported, RetryLayer};

pub(super) const FORMAT: Format = Format { source: SOURCE, recognizes, import, export: None };

const SOURCE: ImportSource = ImportSource::new(&FormatInfo {
    name: "temporal",
    product: "Temporal",
    documentation: "https://docs.temporal.io/encyclopedia/retry-policies",
    layer: RetryLayer::Workflow,
    words: &[
        ("limits.max_attempts", "retryPolicy.maximumAttempts"),
        ("limits.attempt_timeout", "startToCloseTimeout"),
        ("limits.deadline", "scheduleToCloseTimeout"),
        ("backoff.base", "retryPolicy.initialInterval"),
        ("backoff.cap", "retryPolicy.maximumInterval"),
        ("backoff.factor", "retryPolicy.backoffCoefficient"),
    ],
});

const FORM: &str = "a time such as 1s, 100ms or 1m";
const INITIAL: Span = Span::from_secs(1);
const GROWTH: u64 = 100;
/// Keys that only a retry policy of Temporal has.
const OWN: [&str; 4] =
    ["backoffcoefficient", "maximumattempts", "maximuminterval", "nonretryableerrortypes"];

fn is_policy(map: &Map<String, Value>) -> bool {
    map.keys().any(|key| OWN.contains(&plain(key).as_str()))
}

fn recognizes(tree: &Value) -> bool {
    match tree {
        Value::Object(map) => is_policy(map) || map.values().any(recognizes),
        Value::Array(list) => list.iter().any(recognizes),
        _ => false,
    }
}

fn import(pages: &[Page<'_>], imported: &mut Imported) -> Result<(), ImportError> {
    for page in pages {
        imported.begin(page.document);
        walk(&page.path, page.tree, "temporal", None, imported);
    }
    imported.note("Temporal's delays have no jitter by its documentation, and it has no budget: [budget.window] would bound the retries of an outage.");
    Ok(())
}

/// The table around a policy, with its path.
type Around<'a> = Option<(&'a str, &'a Map<String, Value>)>;

/// Every policy below, named by the nearest name of an activity or a workflow, or by its key.
fn walk(path: &str, tree: &Value, name: &str, around: Around<'_>, imported: &mut Imported) {
    let at = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match tree {
        Value::Object(map) if is_policy(map) => {
            let read = one(&SettingsTable::new(path, map), name, around, imported);
            imported.entry(read);
        }
        Value::Object(map) => {
            if path.rsplit('.').next().is_some_and(|key| plain(key) == "retrypolicy") {
                imported.leave_out(
                    path,
                    tree,
                    "none of these are settings of a retry policy of Temporal",
                );
            }
            let known =
                ["name", "activity", "activityType", "activity_type", "workflowType", "workflow"];
            let named = known.iter().find_map(|key| map.get(*key));
            let named =
                named.and_then(|named| named.as_str().or_else(|| named.get("name")?.as_str()));
            for (key, value) in map {
                let own = if plain(key) == "retrypolicy" || plain(key) == "retry" {
                    name
                } else {
                    key.as_str()
                };
                walk(&at(key), value, named.unwrap_or(own), Some((path, map)), imported);
            }
        }
        Value::Array(list) => {
            for (number, value) in list.iter().enumerate() {
                walk(&at(&number.to_string()), value, name, around, imported);
            }
        }
        _ => {}
    }
}

fn one(
    table: &SettingsTable<'_>,
    name: &str,
    around: Around<'_>,
    imported: &mut Imported,
) -> Result<(), ImportError> {
    let initial =
        table.span("initialInterval", go, FORM)?.filter(|base| !base.is_zero()).unwrap_or(INITIAL);
    let factor =
        table.number("backoffCoefficient", (0.0, 1_000_000.0))?.filter(|factor| *factor > 0.0);
    let factor = factor.unwrap_or(2.0);
    if factor < 1.0 {
        return Err(ImportError::new(table.at("backoffCoefficient"), factor, "at least 1"));
    }
    let cap = table.span("maximumInterval", go, FORM)?.filter(|cap| !cap.is_zero());
    let cap = cap.unwrap_or_else(|| initial.saturating_mul(GROWTH));
    let attempts = table.count("maximumAttempts", (0, u32::MAX))?.filter(|attempts| *attempts > 0);
    let factor = Factor::try_from(factor).map_err(table.refused("backoffCoefficient"))?;
    let rule = Backoff::new(Envelope::Exponential(factor), initial, cap)
        .map_err(table.refused("maximumInterval"))?;
    let rule = rule.with_jitter(Jitter::None).map_err(table.refused("initialInterval"))?;
    table.leave_rest(imported, |key| match key {
        "nonretryableerrortypes" => "which failures are retried is said where calls are classified",
        _ => "no such setting of a retry policy",
    });
    let mut builder = Policy::builder().backoff(rule).budget(BudgetPlan::Unlimited);
    builder = builder.max_attempts(attempts.unwrap_or(u32::MAX));
    if let Some((path, map)) = around {
        let around = SettingsTable::new(path, map);
        let limit = around.span("startToCloseTimeout", go, FORM)?.filter(|limit| !limit.is_zero());
        builder = limit.map_or(builder, |limit| builder.attempt_timeout(limit));
        let limit =
            around.span("scheduleToCloseTimeout", go, FORM)?.filter(|limit| !limit.is_zero());
        builder = limit.map_or(builder, |limit| builder.deadline(limit));
        let others = |key: &&String| !plain(key).contains("closetimeout");
        around.ignore(&map.keys().filter(others).map(String::as_str).collect::<Vec<_>>());
        around.leave_rest(imported, |_| "no such timeout");
    }
    let policy = builder.build().map_err(table.refused("maximumAttempts"))?;
    imported.add(SOURCE, name, &table.path, policy);
    Ok(())
}
