//! The Gateway API of Kubernetes: `HTTPRoute` with `retry`, and the retry constraint of a `BackendTrafficPolicy`.
//!
//! Defaults: <https://gateway-api.sigs.k8s.io/geps/gep-1731/> (`attempts` and `backoff` are the implementation's when
//! they are not set; Envoy's are taken) and <https://gateway-api.sigs.k8s.io/reference/specx/> (a budget of 20 % in
//! 10 s, at least 10 retries a second).

use serde_json::{Map, Value};
use stagger_core::budget::{BudgetPlan, FloorRate, WindowPlan};
use stagger_core::{Policy, Rate, Span};

use super::envoy_retry;
use super::format::{Export, Format, Page};
use super::kubernetes::{self, kind};
use crate::export::gateway_api_text;
use crate::source::FormatInfo;
use crate::spans::go;
use crate::table::SettingsTable;
use crate::{ImportError, ImportSource, Imported, RetryLayer};

pub(super) const FORMAT: Format = Format {
    source: SOURCE,
    recognizes,
    import,
    export: Some(Export { write: gateway_api_text, comment: Some("#") }),
};

const SOURCE: ImportSource = ImportSource::new(&FormatInfo {
    name: "gateway-api",
    product: "the Gateway API",
    documentation: "https://gateway-api.sigs.k8s.io/geps/gep-1731/",
    layer: RetryLayer::Gateway,
    words: &[
        ("limits.max_attempts", "retry.attempts"),
        ("limits.deadline", "timeouts.request"),
        ("limits.attempt_timeout", "timeouts.backendRequest"),
        ("backoff", "retry.backoff"),
        ("budget", "retryConstraint.budget"),
    ],
});

const GROUP: &str = "gateway.networking.k8s.io";
const EXPERIMENTAL: &str = "gateway.networking.x-k8s.io";
const FORM: &str = "a time such as 100ms, 2s or 1m";
const RETRIES: u32 = 1;

fn is_policy(tree: &Value) -> bool {
    let kind = kind(tree, EXPERIMENTAL);
    matches!(kind, Some("XBackendTrafficPolicy" | "BackendTrafficPolicy"))
}

/// Routes with `retry` or `timeouts`: most others are not about retries at all.
fn recognizes(tree: &Value) -> bool {
    let rules = tree.pointer("/spec/rules").and_then(Value::as_array).into_iter().flatten();
    let mut rules = rules.filter_map(Value::as_object);
    let set =
        |rule: &Map<String, Value>| rule.contains_key("retry") || rule.contains_key("timeouts");
    is_policy(tree)
        || (matches!(kind(tree, GROUP), Some("HTTPRoute" | "GRPCRoute")) && rules.any(set))
}

/// The budget of some services.
struct Constraint {
    services: Vec<String>,
    budget: BudgetPlan,
    document: usize,
    name: String,
    path: String,
    used: bool,
}

fn import(pages: &[Page<'_>], imported: &mut Imported) -> Result<(), ImportError> {
    let mut constraints = Vec::new();
    for page in pages.iter().filter(|page| is_policy(page.tree)) {
        imported.begin(page.document);
        let read =
            page.map().map_or(Ok(()), |map| constraint(page, map, &mut constraints, imported));
        imported.entry(read);
    }
    for page in pages.iter().filter(|page| !is_policy(page.tree)) {
        imported.begin(page.document);
        let read = page.map().map_or(Ok(()), |map| routes(page, map, &mut constraints, imported));
        imported.entry(read);
    }
    for alone in constraints.iter().filter(|constraint| !constraint.used) {
        imported.begin(alone.document);
        imported.note(
            "A BackendTrafficPolicy without its route says neither attempts nor delays: those are the \
             defaults of stagger.",
        );
        let built = Policy::builder().budget(alone.budget).build();
        let policy =
            built.map_err(|error| ImportError::new(&alone.path, error.value(), error.bound()))?;
        imported.add(SOURCE, &alone.name, &alone.path, policy);
    }
    imported.note(
        "The Gateway API reads no hints; here Retry-After and its kin are obeyed up to 60 s.",
    );
    Ok(())
}

fn constraint(
    page: &Page<'_>,
    map: &Map<String, Value>,
    constraints: &mut Vec<Constraint>,
    imported: &mut Imported,
) -> Result<(), ImportError> {
    let resource = kubernetes::resource(&page.path, map);
    let Some(spec) = resource.table("spec")? else { return Ok(()) };
    spec.ignore(&["targetRefs", "sessionPersistence"]);
    let targets = spec.list("targetRefs")?;
    let services =
        targets.iter().filter_map(|target| target.text("name").map(str::to_owned)).collect();
    let table = spec.table("retryConstraint")?;
    spec.leave_rest(imported, |_| "no such setting of a BackendTrafficPolicy");
    let Some(table) = table else { return Ok(()) };
    let budget = table.table("budget")?;
    let rate = table.table("minRetryRate")?;
    table.leave_rest(imported, |_| "no such setting here");
    let (mut percent, mut interval) = (20, Span::from_secs(10));
    let (mut count, mut each) = (10, Span::from_secs(1));
    if let Some(budget) = &budget {
        percent = budget.count("percent", (0, 100))?.unwrap_or(percent);
        interval = budget.span("interval", go, FORM)?.unwrap_or(interval);
        budget.leave_rest(imported, |_| "no such setting here");
    }
    if let Some(rate) = &rate {
        count = rate.count("count", (1, 1_000_000))?.unwrap_or(count);
        each = rate.span("interval", go, FORM)?.unwrap_or(each);
        rate.leave_rest(imported, |_| "no such setting here");
    }
    let place = budget.as_ref().unwrap_or(&table);
    let floor = FloorRate::AtLeast(per_second(count, each));
    let ratio = place.share("percent", f64::from(percent) / 100.0)?;
    let plan = WindowPlan::new(ratio).and_then(|plan| plan.with_window(interval));
    let plan = plan.map_err(place.refused("interval"))?.with_floor(floor);
    let (name, path) = (kubernetes::name(page.tree), table.path.clone());
    constraints.push(Constraint {
        services,
        budget: plan.into(),
        document: page.document,
        name,
        path,
        used: false,
    });
    Ok(())
}

/// So many in each interval, in whole millionths a second.
fn per_second(count: u32, each: Span) -> Rate {
    let gap = each.as_nanos() / u64::from(count.max(1));
    Rate::once_every(Span::from_nanos(gap.max(1)))
}

fn routes(
    page: &Page<'_>,
    map: &Map<String, Value>,
    constraints: &mut [Constraint],
    imported: &mut Imported,
) -> Result<(), ImportError> {
    let resource = kubernetes::resource(&page.path, map);
    let Some(spec) = resource.table("spec")? else { return Ok(()) };
    spec.ignore(&["parentRefs", "hostnames", "useDefaultGateways"]);
    let rules = spec.list("rules")?;
    spec.leave_rest(imported, |_| "no such setting of a route");
    for rule in rules.iter().filter(|rule| rule.has("retry") || rule.has("timeouts")) {
        rule.ignore(&["name", "matches", "filters", "backendRefs", "sessionPersistence"]);
        let name = rule.text("name").map_or_else(|| kubernetes::name(page.tree), str::to_owned);
        let read = one(rule, &name, constraints, imported);
        imported.entry(read);
    }
    Ok(())
}

fn one(
    rule: &SettingsTable<'_>,
    name: &str,
    constraints: &mut [Constraint],
    imported: &mut Imported,
) -> Result<(), ImportError> {
    let mut builder = Policy::builder().max_attempts(1);
    if let Some(retry) = rule.table("retry")? {
        let attempts = retry.count("attempts", (0, u32::MAX - 1))?;
        if attempts.is_none() {
            let why = "the number of retries is then the implementation's; taken as Envoy's, 1";
            imported.leave_out(retry.at("attempts"), "not set", why);
        }
        let base = retry.span("backoff", go, FORM)?.filter(|base| !base.is_zero());
        if base.is_none() {
            let why = "the delay is then the implementation's; taken as Envoy's, 25 ms";
            imported.leave_out(retry.at("backoff"), "not set", why);
        }
        imported.note(
            "retry.backoff is a minimum, and how it grows is the implementation's; here it is the base of \
             Envoy's full jitter, as gateways built on Envoy take it.",
        );
        let backoff = envoy_retry::exponential(base.unwrap_or(envoy_retry::BASE))?;
        builder = builder.max_attempts(attempts.unwrap_or(RETRIES) + 1).backoff(backoff);
        retry.leave_rest(imported, |key| match key {
            "codes" => "which failures are retried is said where calls are classified",
            _ => "no such setting here",
        });
    }
    if let Some(timeouts) = rule.table("timeouts")? {
        let request = timeouts.span("request", go, FORM)?;
        let backend = timeouts.span("backendRequest", go, FORM)?;
        timeouts.leave_rest(imported, |_| "no such setting here");
        if let Some(limit) = request.filter(|limit| !limit.is_zero()) {
            builder = builder.deadline(limit);
        }
        if let Some(limit) = backend.filter(|limit| !limit.is_zero()) {
            builder = builder.attempt_timeout(limit);
        }
    }
    let services = rule.list("backendRefs")?;
    let services: Vec<&str> = services.iter().filter_map(|service| service.text("name")).collect();
    rule.leave_rest(imported, |_| "no such setting of a rule");
    let found = constraints.iter_mut().find(|constraint| {
        constraint.services.iter().any(|service| services.contains(&service.as_str()))
    });
    let mut budget = BudgetPlan::Unlimited;
    if let Some(constraint) = found {
        (constraint.used, budget) = (true, constraint.budget);
    } else {
        imported.note("A route has no budget, so it is unlimited: a BackendTrafficPolicy with a retryConstraint has one.");
    }
    let policy = builder.budget(budget).build().map_err(rule.refused("timeouts"))?;
    imported.add(SOURCE, name, &rule.path, policy);
    Ok(())
}
