//! Envoy Gateway: `BackendTrafficPolicy` with `retry`, `timeout`, `circuitBreaker` and `healthCheck.passive`.
//!
//! Defaults: <https://gateway.envoyproxy.io/docs/api/extension_types/#retry> (two retries; intervals as Envoy's) and
//! <https://gateway.envoyproxy.io/docs/tasks/traffic/http-timeouts/> (15 s for a request).

use serde_json::{Map, Value};
use stagger_core::budget::BudgetPlan;
use stagger_core::{Policy, Span};

use super::envoy_retry;
use super::format::{Format, Page};
use super::kubernetes::{self, kind};
use crate::source::FormatInfo;
use crate::spans::go;
use crate::table::SettingsTable;
use crate::{ImportError, ImportSource, Imported, RetryLayer};

pub(super) const FORMAT: Format = Format {
    source: SOURCE,
    recognizes: |tree| kind(tree, "gateway.envoyproxy.io") == Some("BackendTrafficPolicy"),
    import,
    export: None,
};

const SOURCE: ImportSource = ImportSource::new(&FormatInfo {
    name: "envoy-gateway",
    product: "Envoy Gateway",
    documentation: "https://gateway.envoyproxy.io/docs/api/extension_types/#backendtrafficpolicy",
    layer: RetryLayer::Gateway,
    words: &[
        ("limits.max_attempts", "retry.numRetries"),
        ("limits.attempt_timeout", "retry.perRetry.timeout"),
        ("limits.deadline", "timeout.http.requestTimeout"),
        ("backoff.base", "retry.perRetry.backOff.baseInterval"),
        ("backoff.cap", "retry.perRetry.backOff.maxInterval"),
        ("backoff", "retry.perRetry.backOff"),
        ("breaker", "healthCheck.passive"),
    ],
});

const FORM: &str = "a time such as 25ms, 2s or 1m";
const RETRIES: u32 = 2;
const TIMEOUT: Span = Span::from_secs(15);
const FAILURES: u32 = 5;
const EJECTION: Span = Span::from_secs(30);

/// Settings of the policy that are not about retries.
const OTHERS: [&str; 22] = [
    "targetRef",
    "targetRefs",
    "targetSelectors",
    "mergeType",
    "rateLimit",
    "loadBalancer",
    "proxyProtocol",
    "tcpKeepalive",
    "faultInjection",
    "useClientProtocol",
    "compression",
    "compressor",
    "responseOverride",
    "httpUpgrade",
    "requestBuffer",
    "telemetry",
    "routingType",
    "connection",
    "dns",
    "http2",
    "bandwidthLimit",
    "admissionControl",
];

fn import(pages: &[Page<'_>], imported: &mut Imported) -> Result<(), ImportError> {
    for page in pages {
        imported.begin(page.document);
        let read = page.map().map_or(Ok(()), |map| one(page, map, imported));
        imported.entry(read);
    }
    envoy_retry::notes(imported);
    envoy_retry::no_hints(imported);
    envoy_retry::no_budget(imported);
    Ok(())
}

fn one(
    page: &Page<'_>,
    map: &Map<String, Value>,
    imported: &mut Imported,
) -> Result<(), ImportError> {
    let resource = kubernetes::resource(&page.path, map);
    let Some(spec) = resource.table("spec")? else { return Ok(()) };
    spec.ignore(&OTHERS);
    let mut builder = Policy::builder().max_attempts(1).budget(BudgetPlan::Unlimited);
    if let Some(retry) = spec.table("retry")? {
        let retries = retry.count("numRetries", (0, u32::MAX - 1))?.unwrap_or(RETRIES);
        let each = retry.table("perRetry")?;
        let intervals = each.as_ref().map_or(Ok(None), |each| each.table("backOff"))?;
        let keys = ("baseInterval", "maxInterval");
        let backoff =
            envoy_retry::backoff(intervals.as_ref(), keys, (go, FORM), envoy_retry::BASE)?;
        builder = builder.max_attempts(retries + 1).backoff(backoff);
        if let Some(intervals) = intervals {
            intervals.leave_rest(imported, |_| "no such setting here");
        }
        if let Some(each) = each {
            let limit = each.span("timeout", go, FORM)?.filter(|limit| !limit.is_zero());
            builder = limit.map_or(builder, |limit| builder.attempt_timeout(limit));
            each.leave_rest(imported, |_| "no such setting here");
        }
        retry.leave_rest(imported, envoy_retry::why);
    }
    let limit = timeout(&spec, imported)?.unwrap_or(TIMEOUT);
    if !limit.is_zero() {
        builder = builder.deadline(limit);
    }
    spec.nearly(
        "circuitBreaker",
        "bounds on what is under way at once; say them as [concurrency_limit]",
        imported,
    );
    if let Some(health) = spec.table("healthCheck")? {
        health.ignore(&["active", "panicThreshold"]);
        if let Some(passive) = health.table("passive")? {
            let failures =
                passive.count("consecutive5XxErrors", (1, u32::MAX))?.unwrap_or(FAILURES);
            let time = passive.span("baseEjectionTime", go, FORM)?.unwrap_or(EJECTION);
            passive.leave_rest(imported, |_| "the choice of a host is the connector's");
            builder = builder.breaker(envoy_retry::ejection(&passive, failures, time, imported)?);
        }
        health.leave_rest(imported, |_| "no such setting here");
    }
    spec.leave_rest(imported, |_| "no such setting of a BackendTrafficPolicy");
    let policy = builder.build().map_err(spec.refused("timeout"))?;
    imported.add(SOURCE, &kubernetes::name(page.tree), &spec.path, policy);
    Ok(())
}

fn timeout(spec: &SettingsTable<'_>, imported: &mut Imported) -> Result<Option<Span>, ImportError> {
    let Some(timeout) = spec.table("timeout")? else { return Ok(None) };
    timeout.ignore(&["tcp"]);
    let http = timeout.table("http")?;
    timeout.leave_rest(imported, |_| "no such setting here");
    let Some(http) = http else { return Ok(None) };
    http.ignore(&[
        "connectionIdleTimeout",
        "maxConnectionDuration",
        "maxStreamDuration",
        "streamIdleTimeout",
    ]);
    let limit = http.span("requestTimeout", go, FORM)?;
    http.leave_rest(imported, |_| "no such setting here");
    Ok(limit)
}
