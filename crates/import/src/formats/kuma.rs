//! Kuma: `MeshRetry`, `MeshTimeout` and `MeshCircuitBreaker` of one destination, as resources of Kubernetes or of Kuma.
//!
//! Defaults: <https://kuma.io/docs/latest/policies/meshretry/> (one retry, base interval 25 ms),
//! <https://kuma.io/docs/latest/policies/meshtimeout/> (15 s for a request) and
//! <https://kuma.io/docs/latest/policies/meshcircuitbreaker/> (5 failures in a row, 30 s).

use serde_json::Value;
use stagger_core::breaker::BreakerPlan;
use stagger_core::budget::BudgetPlan;
use stagger_core::{Policy, PolicyBuilder, Span};

use super::envoy_retry;
use super::format::{Format, Page};
use super::kubernetes::kind;
use crate::source::FormatInfo;
use crate::spans::go;
use crate::table::SettingsTable;
use crate::{ImportError, ImportSource, Imported, RetryLayer};

pub(super) const FORMAT: Format =
    Format { source: SOURCE, recognizes: |tree| kind_of(tree).is_some(), import, export: None };

const SOURCE: ImportSource = ImportSource::new(&FormatInfo {
    name: "kuma",
    product: "Kuma",
    documentation: "https://kuma.io/docs/latest/policies/meshretry/",
    layer: RetryLayer::Mesh,
    words: &[
        ("limits.max_attempts", "http.numRetries"),
        ("limits.attempt_timeout", "http.perTryTimeout"),
        ("limits.deadline", "http.requestTimeout"),
        ("backoff.base", "backOff.baseInterval"),
        ("backoff.cap", "backOff.maxInterval"),
        ("backoff", "http.backOff"),
        ("hints", "http.rateLimitedBackOff"),
        ("breaker", "outlierDetection"),
    ],
});

const FORM: &str = "a time such as 25ms, 2s or 1m";
const RETRIES: u32 = 1;
const REQUEST: Span = Span::from_secs(15);
const FAILURES: u32 = 5;
const EJECTION: Span = Span::from_secs(30);
const KINDS: [&str; 3] = ["MeshRetry", "MeshTimeout", "MeshCircuitBreaker"];

fn kind_of(tree: &Value) -> Option<&str> {
    let universal = || tree.get("mesh").and(tree.get("type")).and_then(Value::as_str);
    kind(tree, "kuma.io").or_else(universal).filter(|kind| KINDS.contains(kind))
}

/// One destination of a resource.
struct To<'a> {
    document: usize,
    kind: &'a str,
    name: String,
    default: SettingsTable<'a>,
}

fn import(pages: &[Page<'_>], imported: &mut Imported) -> Result<(), ImportError> {
    let mut all = Vec::new();
    for page in pages {
        imported.begin(page.document);
        let read = destinations(page, &mut all, imported);
        imported.entry(read);
    }
    let mut names: Vec<&str> = Vec::new();
    for to in &all {
        if !names.contains(&to.name.as_str()) {
            names.push(&to.name);
        }
    }
    for name in names {
        let of = |kind: &str| all.iter().find(|to| to.name == name && to.kind == kind);
        let read =
            one(name, of("MeshRetry"), of("MeshTimeout"), of("MeshCircuitBreaker"), imported);
        imported.entry(read);
    }
    envoy_retry::notes(imported);
    envoy_retry::no_budget(imported);
    Ok(())
}

fn destinations<'a>(
    page: &Page<'a>,
    all: &mut Vec<To<'a>>,
    imported: &mut Imported,
) -> Result<(), ImportError> {
    let (Some(map), Some(kind)) = (page.map(), kind_of(page.tree)) else { return Ok(()) };
    let root = SettingsTable::exact(page.path.clone(), map);
    let Some(spec) = root.table("spec")? else { return Ok(()) };
    spec.ignore(&["targetRef", "from", "rules"]);
    let list = spec.list("to")?;
    spec.leave_rest(imported, |_| "no such setting of the policy");
    for to in list {
        let target = to.get("targetRef").map(|(_, target)| target);
        let name = target.and_then(|target| {
            let labels = target.get("labels");
            let shown = labels.and_then(|labels| labels.get("kuma.io/display-name"));
            let named = target.get("name").or(shown).or_else(|| target.get("kind"));
            named?.as_str().map(str::to_owned)
        });
        to.ignore(&["targetRef"]);
        let default = to.table("default")?;
        to.leave_rest(imported, |_| "no such setting of a destination");
        if let Some(default) = default {
            let name = name.unwrap_or_else(|| "Mesh".to_owned());
            all.push(To { document: page.document, kind, name, default });
        }
    }
    Ok(())
}

fn one(
    name: &str,
    retry: Option<&To<'_>>,
    timeout: Option<&To<'_>>,
    breaker: Option<&To<'_>>,
    imported: &mut Imported,
) -> Result<(), ImportError> {
    let mut limit = REQUEST;
    if let Some(timeout) = timeout {
        imported.begin(timeout.document);
        limit = request(&timeout.default, imported)?.unwrap_or(REQUEST);
    }
    let mut plan = None;
    if let Some(breaker) = breaker {
        imported.begin(breaker.document);
        plan = ejection(&breaker.default, imported)?;
    }
    let ready = |mut builder: PolicyBuilder| {
        builder = builder.budget(BudgetPlan::Unlimited);
        builder = if limit.is_zero() { builder } else { builder.deadline(limit) };
        plan.map_or(builder, |plan| builder.breaker(plan))
    };
    let Some(retry) = retry else {
        let Some(other) = timeout.or(breaker) else { return Ok(()) };
        imported.begin(other.document);
        let builder = ready(Policy::builder().max_attempts(1));
        let policy = builder.build().map_err(other.default.refused("http"))?;
        imported.add(SOURCE, name, &other.default.path, policy);
        return Ok(());
    };
    imported.begin(retry.document);
    retry.default.nearly("tcp", "attempts to connect belong to the connector", imported);
    let protocols = [("http", name.to_owned()), ("grpc", format!("{name} grpc"))];
    for (protocol, name) in protocols {
        let Some(table) = retry.default.table(protocol)? else { continue };
        let builder = retries(&table, imported)?;
        let policy = ready(builder).build().map_err(table.refused("perTryTimeout"))?;
        imported.add(SOURCE, &name, &table.path, policy);
    }
    retry.default.leave_rest(imported, |_| "no such protocol");
    Ok(())
}

fn retries(
    table: &SettingsTable<'_>,
    imported: &mut Imported,
) -> Result<PolicyBuilder, ImportError> {
    let retries = table.count("numRetries", (0, u32::MAX - 1))?.unwrap_or(RETRIES);
    let intervals = table.table("backOff")?;
    let keys = ("baseInterval", "maxInterval");
    let backoff = envoy_retry::backoff(intervals.as_ref(), keys, (go, FORM), envoy_retry::BASE)?;
    if let Some(intervals) = intervals {
        intervals.leave_rest(imported, |_| "no such setting here");
    }
    let mut builder = Policy::builder().max_attempts(retries + 1).backoff(backoff);
    if let Some(limit) = table.span("perTryTimeout", go, FORM)?.filter(|limit| !limit.is_zero()) {
        builder = builder.attempt_timeout(limit);
    }
    match table.table("rateLimitedBackOff")? {
        Some(limited) => {
            let keys = ("maxInterval", "resetHeaders");
            builder = builder.hints(envoy_retry::hints(&limited, keys, (go, FORM), imported)?);
        }
        None => envoy_retry::no_hints(imported),
    }
    table.leave_rest(imported, envoy_retry::why);
    Ok(builder)
}

fn request(
    default: &SettingsTable<'_>,
    imported: &mut Imported,
) -> Result<Option<Span>, ImportError> {
    default.ignore(&["connectionTimeout", "idleTimeout"]);
    let http = default.table("http")?;
    default.leave_rest(imported, |_| "no such timeout");
    let Some(http) = http else { return Ok(None) };
    http.ignore(&[
        "streamIdleTimeout",
        "maxStreamDuration",
        "maxConnectionDuration",
        "requestHeadersTimeout",
    ]);
    let limit = http.span("requestTimeout", go, FORM)?;
    http.leave_rest(imported, |_| "no such timeout");
    Ok(limit)
}

fn ejection(
    default: &SettingsTable<'_>,
    imported: &mut Imported,
) -> Result<Option<BreakerPlan>, ImportError> {
    default.nearly(
        "connectionLimits",
        "bounds on what is under way at once; say them as [concurrency_limit]",
        imported,
    );
    let outliers = default.table("outlierDetection")?;
    default.leave_rest(imported, |_| "no such setting here");
    let Some(outliers) = outliers else { return Ok(None) };
    let disabled = outliers.flag("disabled")?.unwrap_or(false);
    let time = outliers.span("baseEjectionTime", go, FORM)?.unwrap_or(EJECTION);
    let mut failures = None;
    if let Some(detectors) = outliers.table("detectors")? {
        for detector in ["totalFailures", "gatewayFailures", "localOriginFailures"] {
            let Some(table) = detectors.table(detector)? else { continue };
            let consecutive = table.count("consecutive", (1, u32::MAX))?.unwrap_or(FAILURES);
            table.leave_rest(imported, |_| "no such setting here");
            failures.get_or_insert(consecutive);
        }
        detectors.leave_rest(
            imported,
            |_| "judges a host beside the others; the choice of a host is the connector's",
        );
    }
    outliers.leave_rest(imported, |key| match key {
        "interval" => "failures are counted as they come, not once an interval",
        _ => "the choice of a host is the connector's",
    });
    match failures.filter(|_| !disabled) {
        Some(failures) => envoy_retry::ejection(&outliers, failures, time, imported).map(Some),
        None => Ok(None),
    }
}
