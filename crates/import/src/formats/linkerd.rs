//! Linkerd: the routes of a `ServiceProfile`, and the annotations of services and routes.
//!
//! Defaults: <https://linkerd.io/2/reference/retries/> (a limit of one retry, without a delay),
//! <https://linkerd.io/2/reference/service-profiles/> (a timeout of 10 s; a budget of 20 % and 10 retries a second, over
//! 10 s, and no limit but the budget) and <https://linkerd.io/2/reference/circuit-breaking/> (7 failures in a row, from
//! 1 s to 1 min, half of it at random).

use serde_json::{Map, Value};
use stagger_core::breaker::BreakerPlan;
use stagger_core::budget::{BudgetPlan, FloorRate, WindowPlan};
use stagger_core::{Backoff, Policy, Rate, Ratio, Span};

use super::format::{Format, Page};
use super::kubernetes::{self, kind, short};
use crate::source::FormatInfo;
use crate::spans::go;
use crate::table::SettingsTable;
use crate::{ImportError, ImportSource, Imported, RetryLayer};

pub(super) const FORMAT: Format = Format { source: SOURCE, recognizes, import, export: None };

const SOURCE: ImportSource = ImportSource::new(&FormatInfo {
    name: "linkerd",
    product: "Linkerd",
    documentation: "https://linkerd.io/2/reference/retries/",
    layer: RetryLayer::Mesh,
    words: &[
        ("limits.max_attempts", "retry.linkerd.io/limit"),
        ("limits.attempt_timeout", "retry.linkerd.io/timeout"),
        ("limits.deadline", "timeout.linkerd.io/request"),
        ("breaker", "balancer.linkerd.io/failure-accrual"),
        ("budget", "retryBudget"),
    ],
});

const FORM: &str = "a time such as 100ms, 2s or 1m";
const LIMIT: u32 = 1;
/// A route of a profile has no limit but its budget.
const UNBOUNDED: u32 = u32::MAX;
const PROFILE_TIMEOUT: Span = Span::from_secs(10);
const RETRY: &str = "retry.linkerd.io/";
const TIMEOUT: &str = "timeout.linkerd.io/";
const ACCRUAL: &str = "balancer.linkerd.io/failure-accrual";

fn is_profile(tree: &Value) -> bool {
    kind(tree, "linkerd.io") == Some("ServiceProfile")
}

fn annotations(tree: &Value) -> Option<&Map<String, Value>> {
    tree.get("metadata")?.get("annotations")?.as_object()
}

/// A profile, or a resource with annotations about retries, timeouts or circuit breaking.
fn recognizes(tree: &Value) -> bool {
    let own = |key: &String| [RETRY, TIMEOUT, ACCRUAL].iter().any(|prefix| key.starts_with(prefix));
    is_profile(tree) || annotations(tree).is_some_and(|map| map.keys().any(own))
}

fn import(pages: &[Page<'_>], imported: &mut Imported) -> Result<(), ImportError> {
    for page in pages {
        imported.begin(page.document);
        let read = if is_profile(page.tree) {
            page.map().map_or(Ok(()), |map| profile(page, map, imported))
        } else {
            annotations(page.tree).map_or(Ok(()), |map| annotated(page, map, imported))
        };
        imported.entry(read);
    }
    imported.note("Linkerd retries without a delay, and reads no hints; here Retry-After and its kin are obeyed up to 60 s.");
    Ok(())
}

fn profile(
    page: &Page<'_>,
    map: &Map<String, Value>,
    imported: &mut Imported,
) -> Result<(), ImportError> {
    let resource = kubernetes::resource(&page.path, map);
    let Some(spec) = resource.table("spec")? else { return Ok(()) };
    spec.ignore(&["dstOverrides", "opaquePorts"]);
    let budget = match spec.table("retryBudget")? {
        Some(budget) => self::budget(&budget, imported)?,
        None => usual_budget()?,
    };
    let routes = spec.list("routes")?;
    spec.leave_rest(imported, |_| "no such setting of a ServiceProfile");
    let service = kubernetes::name(page.tree);
    for route in &routes {
        route.ignore(&["name", "condition", "responseClasses"]);
        let retried = route.flag("isRetryable")?.unwrap_or(false);
        let timeout = route.span("timeout", go, FORM)?.unwrap_or(PROFILE_TIMEOUT);
        route.leave_rest(imported, |_| "no such setting of a route");
        let builder = Policy::builder()
            .backoff(Backoff::constant(Span::ZERO))
            .deadline(timeout)
            .budget(budget);
        let builder = builder.max_attempts(if retried { UNBOUNDED } else { 1 });
        let policy = builder.build().map_err(route.refused("timeout"))?;
        let name = format!("{} {}", short(&service), route.text("name").unwrap_or("route"));
        imported.add(SOURCE, &name, &route.path, policy);
    }
    Ok(())
}

fn usual_budget() -> Result<BudgetPlan, ImportError> {
    window(Ratio::from_percent(20), 10, Span::from_secs(10))
}

fn window(ratio: Ratio, least: u32, ttl: Span) -> Result<BudgetPlan, ImportError> {
    let plan = WindowPlan::new(ratio).and_then(|plan| plan.with_window(ttl));
    let plan =
        plan.map_err(|error| ImportError::new(error.field(), error.value(), error.bound()))?;
    Ok(plan.with_floor(FloorRate::Add(Rate::per_second(least))).into())
}

fn budget(table: &SettingsTable<'_>, imported: &mut Imported) -> Result<BudgetPlan, ImportError> {
    let ratio = table.number("retryRatio", (0.0, 10.0))?.unwrap_or(0.2);
    let least = table.count("minRetriesPerSecond", (0, 1_000_000))?.unwrap_or(10);
    let ttl = table.span("ttl", go, FORM)?.unwrap_or(Span::from_secs(10));
    table.leave_rest(imported, |_| "no such setting of a budget");
    let ratio = table.share("retryRatio", ratio)?;
    window(ratio, least, ttl).map_err(|error| ImportError::new(table.at("ttl"), ttl, error.bound()))
}

fn annotated(
    page: &Page<'_>,
    map: &Map<String, Value>,
    imported: &mut Imported,
) -> Result<(), ImportError> {
    let table = SettingsTable::exact(page.at("metadata.annotations"), map);
    let others = |key: &&String| {
        !key.contains("linkerd.io/")
            || key.starts_with("config.linkerd.io/")
            || key.starts_with("linkerd.io/")
    };
    table.ignore(&map.keys().filter(others).map(String::as_str).collect::<Vec<_>>());
    let retried = ["http", "grpc"].map(|kind| table.get(&format!("{RETRY}{kind}")).is_some());
    let limit = table.count(&format!("{RETRY}limit"), (0, u32::MAX - 1))?.unwrap_or(LIMIT);
    let retries = if retried.contains(&true) { limit } else { 0 };
    let mut builder = Policy::builder()
        .max_attempts(retries + 1)
        .backoff(Backoff::constant(Span::ZERO))
        .budget(BudgetPlan::Unlimited);
    if let Some(limit) = table.span(&format!("{RETRY}timeout"), go, FORM)? {
        builder = builder.attempt_timeout(limit);
    }
    if let Some(limit) = table.span(&format!("{TIMEOUT}request"), go, FORM)? {
        builder = builder.deadline(limit);
    }
    if let Some(kind) = table.text(ACCRUAL) {
        if kind == "consecutive" {
            builder = builder.breaker(accrual(&table, imported)?);
        } else {
            table.nearly(ACCRUAL, "only consecutive failures are known", imported);
        }
    }
    for kind in ["http", "grpc"] {
        let why = "which failures are retried is said where calls are classified";
        table.nearly(&format!("{RETRY}{kind}"), why, imported);
    }
    table.leave_rest(imported, |key| match key {
        "timeout.linkerd.io/response" => "there is no limit on the response alone",
        "timeout.linkerd.io/idle" => "there is no limit on silence within an attempt",
        _ => "no such annotation",
    });
    imported.note("A service has no budget in Linkerd's annotations, so it is unlimited: [budget.window] would bound the retries of an outage.");
    let policy = builder.build().map_err(table.refused(&format!("{RETRY}timeout")))?;
    imported.add(SOURCE, &kubernetes::name(page.tree), &table.path, policy);
    Ok(())
}

fn accrual(table: &SettingsTable<'_>, imported: &mut Imported) -> Result<BreakerPlan, ImportError> {
    let key = |part: &str| format!("{ACCRUAL}-consecutive-{part}");
    let failures = table.count(&key("max-failures"), (1, u32::MAX))?.unwrap_or(7);
    let least = table.span(&key("min-penalty"), go, FORM)?.unwrap_or(Span::from_secs(1));
    let most = table.span(&key("max-penalty"), go, FORM)?.unwrap_or(Span::from_secs(60));
    let jitter = table.number(&key("jitter-ratio"), (0.0, 1.0))?.unwrap_or(0.5);
    if (jitter - 0.5).abs() > f64::EPSILON {
        table.nearly(
            &key("jitter-ratio"),
            "an open time is stretched at random by up to a half here",
            imported,
        );
    }
    let why = "Linkerd judges single endpoints; here the breaker is that of the whole destination";
    table.nearly(ACCRUAL, why, imported);
    BreakerPlan::builder()
        .ratio(None)
        .consecutive(failures)
        .open_time(least)
        .open_cap(most.max(least))
        .build()
        .map_err(table.refused(&key("min-penalty")))
}
