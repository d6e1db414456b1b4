//! Istio: the routes of a `VirtualService`, and the `DestinationRule` of their host.
//!
//! Defaults: <https://istio.io/latest/docs/reference/config/networking/virtual-service/#HTTPRetry> and
//! <https://istio.io/latest/docs/concepts/traffic-management/#retries> (two retries where a route says nothing, base
//! interval 25 ms, no timeout), and
//! <https://istio.io/latest/docs/reference/config/networking/destination-rule/#OutlierDetection> (5 errors in a row, 30 s).

use serde_json::{Map, Value};
use stagger_core::breaker::BreakerPlan;
use stagger_core::budget::BudgetPlan;
use stagger_core::{Policy, PolicyBuilder, Span};

use super::envoy_retry;
use super::format::{Export, Format, Page};
use super::kubernetes::{self, kind, short};
use crate::export::istio_text;
use crate::source::FormatInfo;
use crate::spans::go;
use crate::table::SettingsTable;
use crate::{ImportError, ImportSource, Imported, RetryLayer};

pub(super) const FORMAT: Format = Format {
    source: SOURCE,
    recognizes: |tree| matches!(kind(tree, GROUP), Some("VirtualService" | "DestinationRule")),
    import,
    export: Some(Export { write: istio_text, comment: Some("#") }),
};

pub(super) const SOURCE: ImportSource = ImportSource::new(&FormatInfo {
    name: "istio",
    product: "Istio",
    documentation: "https://istio.io/latest/docs/reference/config/networking/virtual-service/#HTTPRetry",
    layer: RetryLayer::Mesh,
    words: &[
        ("limits.max_attempts", "retries.attempts"),
        ("limits.attempt_timeout", "retries.perTryTimeout"),
        ("limits.deadline", "timeout"),
        ("backoff", "retries.backoff"),
        ("breaker", "trafficPolicy.outlierDetection"),
        ("budget", "trafficPolicy.retryBudget"),
    ],
});

pub(super) const GROUP: &str = "networking.istio.io";
pub(super) const FORM: &str = "a time such as 25ms, 2s or 1m";
const RETRIES: u32 = 2;
const FAILURES: u32 = 5;
const EJECTION: Span = Span::from_secs(30);

/// Keys of an `HTTPRoute` of Istio that are not about retries.
pub(super) const ROUTE: [&str; 15] = [
    "name",
    "match",
    "route",
    "redirect",
    "directResponse",
    "delegate",
    "rewrite",
    "fault",
    "mirror",
    "mirrors",
    "mirrorPercentage",
    "mirror_percent",
    "mirrorPercent",
    "corsPolicy",
    "headers",
];

/// The parts of a `DestinationRule` that policies have.
pub(super) struct Rule {
    pub(super) host: String,
    breaker: Option<BreakerPlan>,
    budget: Option<BudgetPlan>,
    document: usize,
    name: String,
    path: String,
    pub(super) used: bool,
}

fn import(pages: &[Page<'_>], imported: &mut Imported) -> Result<(), ImportError> {
    let mut rules = Vec::new();
    for page in pages.iter().filter(|page| kind(page.tree, GROUP) == Some("DestinationRule")) {
        imported.begin(page.document);
        let read = page.map().map_or(Ok(()), |map| rule(page, map, &mut rules, imported));
        imported.entry(read);
    }
    for page in pages.iter().filter(|page| kind(page.tree, GROUP) == Some("VirtualService")) {
        imported.begin(page.document);
        let read = page.map().map_or(Ok(()), |map| service(page, map, &mut rules, imported));
        imported.entry(read);
    }
    for rule in
        rules.iter().filter(|rule| !rule.used && (rule.breaker.is_some() || rule.budget.is_some()))
    {
        imported.begin(rule.document);
        let builder = Policy::builder().max_attempts(RETRIES + 1);
        let builder = builder.backoff(envoy_retry::exponential(envoy_retry::BASE)?);
        imported.note(
            "Routes without retries, and hosts without a route, get Istio's default of 2 retries.",
        );
        add(rule.parts(builder, imported), &rule.name, &rule.path, imported)?;
    }
    envoy_retry::notes(imported);
    envoy_retry::no_hints(imported);
    Ok(())
}

impl Rule {
    fn parts(&self, mut builder: PolicyBuilder, imported: &mut Imported) -> PolicyBuilder {
        if let Some(breaker) = self.breaker {
            builder = builder.breaker(breaker);
        }
        if self.budget.is_none() {
            envoy_retry::no_budget(imported);
        }
        builder.budget(self.budget.unwrap_or(BudgetPlan::Unlimited))
    }
}

pub(super) fn rule(
    page: &Page<'_>,
    map: &Map<String, Value>,
    rules: &mut Vec<Rule>,
    imported: &mut Imported,
) -> Result<(), ImportError> {
    let resource = kubernetes::resource(&page.path, map);
    let Some(spec) = resource.table("spec")? else { return Ok(()) };
    spec.ignore(&["subsets", "exportTo", "workloadSelector"]);
    let host = spec.text("host").unwrap_or_default().to_owned();
    let (mut breaker, mut budget) = (None, None);
    if let Some(policy) = spec.table("trafficPolicy")? {
        policy.ignore(&["loadBalancer", "tls", "portLevelSettings", "tunnel", "proxyProtocol"]);
        if let Some(pool) = policy.table("connectionPool")?
            && let Some(http) = pool.table("http")?
        {
            http.nearly(
                "maxRetries",
                "a bound on retries under way; ours counts over time",
                imported,
            );
        }
        if let Some(outliers) = policy.table("outlierDetection")? {
            breaker = outlier(&outliers, imported)?;
        }
        if let Some(table) = policy.table("retryBudget")? {
            let percent = table.number("percent", (0.0, 100.0))?;
            let least = table.count("minRetryConcurrency", (0, 1_000_000))?;
            table.leave_rest(imported, |_| "no such setting here");
            budget = Some(envoy_retry::budget(&table, "percent", percent, least, imported)?);
        }
        policy.leave_rest(imported, |_| "no such setting of a traffic policy");
    }
    spec.leave_rest(imported, |_| "no such setting of a DestinationRule");
    let (name, path) = (kubernetes::name(page.tree), page.at("spec"));
    rules.push(Rule { host, breaker, budget, document: page.document, name, path, used: false });
    Ok(())
}

fn outlier(
    table: &SettingsTable<'_>,
    imported: &mut Imported,
) -> Result<Option<BreakerPlan>, ImportError> {
    let errors = table.count("consecutive5xxErrors", (0, u32::MAX))?;
    let older = table.count("consecutiveErrors", (0, u32::MAX))?;
    let gateway = table.count("consecutiveGatewayErrors", (0, u32::MAX))?.filter(|n| *n > 0);
    let failures = errors.or(older).or(gateway).unwrap_or(FAILURES);
    let time = table.span("baseEjectionTime", go, FORM)?.unwrap_or(EJECTION);
    table.leave_rest(imported, |key| match key {
        "interval" => "failures are counted as they come, not once an interval",
        "maxejectionpercent" | "minhealthpercent" => "the choice of a host is the connector's",
        _ => "no such setting here",
    });
    if failures == 0 {
        return Ok(None);
    }
    envoy_retry::ejection(table, failures, time, imported).map(Some)
}

fn service(
    page: &Page<'_>,
    map: &Map<String, Value>,
    rules: &mut [Rule],
    imported: &mut Imported,
) -> Result<(), ImportError> {
    let resource = kubernetes::resource(&page.path, map);
    let Some(spec) = resource.table("spec")? else { return Ok(()) };
    spec.ignore(&["hosts", "gateways", "tcp", "tls", "exportTo"]);
    let routes = spec.list("http")?;
    spec.leave_rest(imported, |_| "no such setting of a VirtualService");
    for http in routes.iter().filter(|http| !http.has("redirect") && !http.has("directResponse")) {
        http.ignore(&ROUTE);
        let name = http.text("name").map_or_else(|| kubernetes::name(page.tree), str::to_owned);
        let read = route(http, &name, rules, imported);
        imported.entry(read);
    }
    Ok(())
}

pub(super) fn route(
    http: &SettingsTable<'_>,
    name: &str,
    rules: &mut [Rule],
    imported: &mut Imported,
) -> Result<(), ImportError> {
    let mut builder = Policy::builder().max_attempts(RETRIES + 1);
    let mut backoff = envoy_retry::exponential(envoy_retry::BASE)?;
    match http.table("retries")? {
        None => imported.note(
            "Routes without retries, and hosts without a route, get Istio's default of 2 retries.",
        ),
        Some(retries) => {
            let attempts = retries.count("attempts", (0, u32::MAX - 1))?.unwrap_or(0);
            builder = builder.max_attempts(attempts + 1);
            if let Some(limit) = retries.span("perTryTimeout", go, FORM)?.filter(|it| !it.is_zero())
            {
                builder = builder.attempt_timeout(limit);
            }
            if let Some(base) = retries.span("backoff", go, FORM)?.filter(|base| !base.is_zero()) {
                backoff = envoy_retry::exponential(base)?;
            }
            retries.leave_rest(imported, envoy_retry::why);
        }
    }
    if let Some(limit) = http.span("timeout", go, FORM)?.filter(|limit| !limit.is_zero()) {
        builder = builder.deadline(limit);
    }
    let host = http.list("route")?.iter().find_map(destination).unwrap_or_default();
    http.leave_rest(imported, |_| "no such setting of a route");
    let rule = rules.iter_mut().find(|rule| short(&rule.host) == short(&host) && !host.is_empty());
    builder = builder.backoff(backoff);
    builder = match rule {
        Some(rule) => {
            rule.used = true;
            rule.parts(builder, imported)
        }
        None => {
            envoy_retry::no_budget(imported);
            builder.budget(BudgetPlan::Unlimited)
        }
    };
    add(builder, name, &http.path, imported)
}

fn destination(route: &SettingsTable<'_>) -> Option<String> {
    let (_, destination) = route.get("destination")?;
    destination.get("host")?.as_str().map(str::to_owned)
}

fn add(
    builder: PolicyBuilder,
    name: &str,
    path: &str,
    imported: &mut Imported,
) -> Result<(), ImportError> {
    let built = builder.build();
    let policy = built.map_err(|error| ImportError::new(path, error.value(), error.bound()))?;
    imported.add(SOURCE, name, path, policy);
    Ok(())
}
