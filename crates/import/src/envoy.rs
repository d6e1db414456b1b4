//! Envoy: `RouteAction` with its `retry_policy`, and the retry budget of a cluster.
//!
//! Defaults: config.route.v3.RetryPolicy (`num_retries` 1, base interval 25 ms, longest interval ten
//! times that, hints up to 300 s), RouteAction (`timeout` 15 s), and
//! config.cluster.v3.CircuitBreakers.Thresholds.RetryBudget (20 %, at least 3 retries under way).

use serde_json::{Map, Value};
use stagger_core::budget::{BudgetPlan, FloorRate, WindowPlan};
use stagger_core::{Backoff, HintRule, LongHint, Policy, PolicyBuilder, Rate, Ratio, Span};

use crate::duration::protobuf;
use crate::table::{SettingsTable, plain};
use crate::{ImportError, ImportSource, Imported};

const BASE: Span = Span::from_millis(25);
const GROWTH: u64 = 10;
const RETRIES: u32 = 1;
const TIMEOUT: Span = Span::from_secs(15);
const LONGEST_HINT: Span = Span::from_secs(300);
/// Envoy draws from one to one and a half times the interval that the server asked for.
const SPREAD: Ratio = Ratio::from_percent(50);
const FORM: &str = "seconds such as 0.025s";

pub(crate) fn import(tree: &Value) -> Result<Imported, ImportError> {
    let mut imported = Imported::new(ImportSource::Envoy);
    let mut budgets = Vec::new();
    find_budgets("", tree, &mut budgets, &mut imported)?;
    walk("", tree, "envoy", &budgets, &mut imported)?;
    imported.note(
        "Envoy draws retry N from 0 to (2^N - 1) times the base by its documentation; here it is full \
         jitter under a ceiling that doubles: the same first retry and cap, less growth between.",
    );
    imported.note("Envoy decides by retry_on what is retried; here the caller's classifiers do.");
    Ok(imported)
}

/// Every retry policy below, named by the nearest `name` around it.
fn walk(
    path: &str,
    tree: &Value,
    name: &str,
    budgets: &[Budget],
    imported: &mut Imported,
) -> Result<(), ImportError> {
    let at = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match tree {
        Value::Object(map) => {
            let name = map.get("name").and_then(Value::as_str).unwrap_or(name);
            let bare = path.is_empty()
                && map.keys().any(|key| plain(key) == "numretries" || plain(key) == "retryon");
            if bare {
                return policy(&SettingsTable::new("", map), None, name, budgets, imported);
            }
            for (key, value) in map {
                match value.as_object() {
                    Some(inner) if plain(key) == "retrypolicy" => {
                        policy(
                            &SettingsTable::new(at(key), inner),
                            Some(map),
                            name,
                            budgets,
                            imported,
                        )?;
                    }
                    _ => walk(&at(key), value, name, budgets, imported)?,
                }
            }
        }
        Value::Array(list) => {
            for (number, value) in list.iter().enumerate() {
                walk(&at(&number.to_string()), value, name, budgets, imported)?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn policy(
    table: &SettingsTable<'_>,
    route: Option<&Map<String, Value>>,
    name: &str,
    budgets: &[Budget],
    imported: &mut Imported,
) -> Result<(), ImportError> {
    let retries = table.count("num_retries", (0, u32::MAX - 1))?.unwrap_or(RETRIES);
    let mut builder = Policy::builder().max_attempts(retries + 1).backoff(backoff(table)?);
    if let Some(limit) =
        table.span("per_try_timeout", protobuf, FORM)?.filter(|limit| !limit.is_zero())
    {
        builder = builder.attempt_timeout(limit);
    }
    builder = deadline(builder, table, route, imported)?;
    builder = hints(builder, table, imported)?;
    let cluster = route.and_then(|route| route.get("cluster")).and_then(Value::as_str);
    let budget = budgets.iter().find(|budget| budget.is_for(cluster, budgets.len()));
    builder = builder.budget(budget.map_or(BudgetPlan::Unlimited, |budget| budget.plan));
    if budget.is_none() {
        imported.note(
            "Without a retry_budget Envoy bounds retries by max_retries, 3 under way at once for each \
             cluster; a budget here counts over time, so it is unlimited: set [budget.window].",
        );
    }
    table.leave_rest(imported, |key| match key {
        "retryon" | "retriablestatuscodes" | "retriableheaders" | "retriablerequestheaders" => {
            "which failures are retried is said where calls are classified"
        }
        "retryhostpredicate" | "hostselectionretrymaxattempts" | "retrypriority" => {
            "the choice of a host is the connector's"
        }
        "pertryidletimeout" => "there is no limit on silence within an attempt",
        _ => "no such setting here",
    });
    let policy = builder.build().map_err(table.refused("per_try_timeout"))?;
    imported.add(name, policy);
    Ok(())
}

fn backoff(table: &SettingsTable<'_>) -> Result<Backoff, ImportError> {
    let Some(back_off) = table.table("retry_back_off")? else {
        return Backoff::exponential(BASE, BASE.saturating_mul(GROWTH))
            .map_err(table.refused("retry_back_off"));
    };
    let base = back_off.span("base_interval", protobuf, FORM)?.unwrap_or(BASE);
    if base.is_zero() {
        return Err(ImportError::new(back_off.at("base_interval"), "\"0s\"", "above 0s"));
    }
    let cap = back_off.span("max_interval", protobuf, FORM)?;
    let cap = cap.unwrap_or_else(|| base.saturating_mul(GROWTH));
    Backoff::exponential(base, cap).map_err(back_off.refused("max_interval"))
}

/// The route's timeout bounds all attempts; 0 means none.
fn deadline(
    builder: PolicyBuilder,
    table: &SettingsTable<'_>,
    route: Option<&Map<String, Value>>,
    imported: &mut Imported,
) -> Result<PolicyBuilder, ImportError> {
    let Some(route) = route else {
        imported.note(
            "The timeout of the route, 15 s by default, is not in this file: set limits.deadline.",
        );
        return Ok(builder);
    };
    let around = table.path.rsplit_once('.').map_or("", |(around, _)| around);
    let timeout = SettingsTable::new(around, route).span("timeout", protobuf, FORM)?;
    Ok(match timeout.unwrap_or(TIMEOUT) {
        Span::ZERO => builder,
        limit => builder.deadline(limit),
    })
}

fn hints(
    builder: PolicyBuilder,
    table: &SettingsTable<'_>,
    imported: &mut Imported,
) -> Result<PolicyBuilder, ImportError> {
    let Some(limited) = table.table("rate_limited_retry_back_off")? else {
        imported.note("Envoy reads no Retry-After without rate_limited_retry_back_off; here it is obeyed up to 60 s.");
        return Ok(builder);
    };
    let max = limited.span("max_interval", protobuf, FORM)?.unwrap_or(LONGEST_HINT);
    limited.nearly(
        "reset_headers",
        "Retry-After and the usual reset headers are read without being named; others are not",
        imported,
    );
    limited.leave_rest(imported, |_| "no such setting here");
    imported.note(
        "Envoy waits its own back-off when a hint is longer than the longest interval; here such a hint \
         ends the call.",
    );
    let rule = HintRule::new(max, SPREAD, LongHint::Stop);
    Ok(builder.hints(rule.map_err(limited.refused("max_interval"))?))
}

/// A cluster's retry budget.
struct Budget {
    cluster: Option<String>,
    plan: BudgetPlan,
}

impl Budget {
    /// By the cluster's name, or the only one there is when either name is missing.
    fn is_for(&self, cluster: Option<&str>, all: usize) -> bool {
        match (self.cluster.as_deref(), cluster) {
            (Some(own), Some(asked)) => own == asked,
            _ => all == 1,
        }
    }
}

fn find_budgets(
    path: &str,
    tree: &Value,
    found: &mut Vec<Budget>,
    imported: &mut Imported,
) -> Result<(), ImportError> {
    let at = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match tree {
        Value::Object(map) => {
            for (key, value) in map {
                let thresholds =
                    (plain(key) == "circuitbreakers").then(|| value.get("thresholds")).flatten();
                for (number, threshold) in
                    thresholds.and_then(Value::as_array).into_iter().flatten().enumerate()
                {
                    let Some(threshold) = threshold.as_object() else { continue };
                    let threshold =
                        SettingsTable::new(format!("{}.thresholds.{number}", at(key)), threshold);
                    let cluster = map.get("name").and_then(Value::as_str).map(str::to_owned);
                    if let Some(plan) = budget(&threshold, imported)? {
                        found.push(Budget { cluster, plan });
                    }
                    threshold.nearly(
                        "max_retries",
                        "a bound on retries under way; ours counts over time",
                        imported,
                    );
                }
                find_budgets(&at(key), value, found, imported)?;
            }
        }
        Value::Array(list) => {
            for (number, value) in list.iter().enumerate() {
                find_budgets(&at(&number.to_string()), value, found, imported)?;
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
    let Some(budget) = threshold.table("retry_budget")? else { return Ok(None) };
    let percent = match budget.get("budget_percent") {
        Some((_, Value::Object(_))) => budget
            .table("budget_percent")?
            .map_or(Ok(None), |percent| percent.number("value", (0.0, 100.0)))?,
        _ => budget.number("budget_percent", (0.0, 100.0))?,
    };
    let least = budget.count("min_retry_concurrency", (0, 1_000_000))?.unwrap_or(3);
    let share = budget.share("budget_percent", percent.unwrap_or(20.0) / 100.0)?;
    let floor = FloorRate::AtLeast(Rate::per_second(least));
    let plan = WindowPlan::new(share).map(|plan| plan.with_floor(floor));
    imported.leave_out(
        budget.path.clone(),
        format!("{}%, at least {least}", percent.unwrap_or(20.0)),
        "Envoy counts retries under way against calls under way; here it is retries against first \
         attempts of the last 10 s, and the minimum is so many a second",
    );
    plan.map(|plan| Some(plan.into())).map_err(budget.refused("budget_percent"))
}
