//! The retry budgets of Envoy's clusters.

use serde_json::Value;
use stagger_core::budget::BudgetPlan;

use super::envoy_retry;
use crate::key::plain;
use crate::table::SettingsTable;
use crate::{ImportError, Imported};

/// Thresholds that are not about retries.
const OTHERS: [&str; 6] = [
    "priority",
    "max_connections",
    "max_pending_requests",
    "max_requests",
    "track_remaining",
    "max_connection_pools",
];

/// A cluster's retry budget.
pub(super) struct EnvoyBudget {
    cluster: Option<String>,
    pub(super) plan: BudgetPlan,
}

impl EnvoyBudget {
    /// By the cluster's name, or the only one there is when either name is missing.
    pub(super) fn is_for(&self, cluster: Option<&str>, all: usize) -> bool {
        match (self.cluster.as_deref(), cluster) {
            (Some(own), Some(asked)) => own == asked,
            _ => all == 1,
        }
    }
}

/// Every budget below a tree.
pub(super) fn find(
    path: &str,
    tree: &Value,
    found: &mut Vec<EnvoyBudget>,
    imported: &mut Imported,
) -> Result<(), ImportError> {
    let at = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match tree {
        Value::Object(map) => {
            for (key, value) in map {
                let thresholds =
                    (plain(key) == "circuitbreakers").then(|| value.get("thresholds")).flatten();
                let thresholds = thresholds.and_then(Value::as_array).into_iter().flatten();
                for (number, threshold) in thresholds.enumerate() {
                    let Some(threshold) = threshold.as_object() else { continue };
                    let threshold =
                        SettingsTable::new(format!("{}.thresholds.{number}", at(key)), threshold);
                    let cluster = map.get("name").and_then(Value::as_str).map(str::to_owned);
                    if let Some(plan) = budget(&threshold, imported)? {
                        found.push(EnvoyBudget { cluster, plan });
                    }
                }
                find(&at(key), value, found, imported)?;
            }
        }
        Value::Array(list) => {
            for (number, value) in list.iter().enumerate() {
                find(&at(&number.to_string()), value, found, imported)?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn budget(
    threshold: &SettingsTable<'_>,
    imported: &mut Imported,
) -> Result<Option<BudgetPlan>, ImportError> {
    let why = "a bound on retries under way; ours counts over time";
    threshold.nearly("max_retries", why, imported);
    threshold.ignore(&OTHERS);
    let budget = threshold.table("retry_budget")?;
    threshold.leave_rest(imported, |_| "no such threshold");
    let Some(budget) = budget else { return Ok(None) };
    let percent = match budget.get("budget_percent") {
        Some((_, Value::Object(_))) => {
            let percent = budget.table("budget_percent")?;
            percent.map_or(Ok(None), |percent| {
                let value = percent.number("value", (0.0, 100.0));
                percent.leave_rest(imported, |_| "no such setting here");
                value
            })?
        }
        _ => budget.number("budget_percent", (0.0, 100.0))?,
    };
    let least = budget.count("min_retry_concurrency", (0, 1_000_000))?;
    budget.leave_rest(imported, |_| "no such setting here");
    envoy_retry::budget(&budget, "budget_percent", percent, least, imported).map(Some)
}
