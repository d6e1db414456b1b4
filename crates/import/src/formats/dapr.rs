//! Dapr: the targets of a `Resiliency` resource, each with the timeout, the retries and the breaker that it names.
//!
//! Defaults: <https://docs.dapr.io/operations/resiliency/policies/> (constant: 5 s; exponential: 500 ms, times 1.5, half
//! of it at random, up to 60 s; retries without an end where none is set, those with growing delays for 15 min; a
//! breaker opens for 60 s at more than 5 failures in a row, and lets one call probe).

use serde_json::{Map, Value};
use stagger_core::breaker::BreakerPlan;
use stagger_core::budget::BudgetPlan;
use stagger_core::{Backoff, Envelope, Factor, Jitter, Policy, PolicyBuilder, Ratio, Span};

use super::format::{Format, Page};
use super::kubernetes::{self, kind};
use crate::source::FormatInfo;
use crate::spans::go;
use crate::table::SettingsTable;
use crate::{ImportError, ImportSource, Imported, RetryLayer};

pub(super) const FORMAT: Format = Format {
    source: SOURCE,
    recognizes: |tree| kind(tree, "dapr.io") == Some("Resiliency"),
    import,
    export: None,
};

const SOURCE: ImportSource = ImportSource::new(&FormatInfo {
    name: "dapr",
    product: "Dapr",
    documentation: "https://docs.dapr.io/operations/resiliency/policies/",
    layer: RetryLayer::Mesh,
    words: &[
        ("limits.max_attempts", "retries.NAME.maxRetries"),
        ("limits.attempt_timeout", "timeouts.NAME"),
        ("backoff.base", "retries.NAME.duration"),
        ("backoff.cap", "retries.NAME.maxInterval"),
        ("backoff.jitter", "retries.NAME.policy"),
        ("breaker.open_time", "circuitBreakers.NAME.timeout"),
        ("breaker", "circuitBreakers.NAME.trip"),
    ],
});

const FORM: &str = "a time such as 100ms, 2s or 1m";
const CONSTANT: Span = Span::from_secs(5);
const INITIAL: Span = Span::from_millis(500);
const LONGEST: Span = Span::from_secs(60);
const ELAPSED: Span = Span::from_secs(15 * 60);
const OPEN: Span = Span::from_secs(60);
const FAILURES: u32 = 5;

fn import(pages: &[Page<'_>], imported: &mut Imported) -> Result<(), ImportError> {
    for page in pages {
        imported.begin(page.document);
        let read = page.map().map_or(Ok(()), |map| resource(page, map, imported));
        imported.entry(read);
    }
    imported.note("Dapr has no budget, so it is unlimited: [budget.window] would bound the retries of an outage.");
    imported.note("Dapr reads no hints; here Retry-After and its kin are obeyed up to 60 s.");
    Ok(())
}

/// The named policies of a resource.
struct Named<'a> {
    timeouts: Option<SettingsTable<'a>>,
    retries: Option<SettingsTable<'a>>,
    breakers: Option<SettingsTable<'a>>,
}

fn resource(
    page: &Page<'_>,
    map: &Map<String, Value>,
    imported: &mut Imported,
) -> Result<(), ImportError> {
    let root = kubernetes::resource(&page.path, map);
    root.ignore(&["scopes"]);
    let Some(spec) = root.table("spec")? else { return Ok(()) };
    let (policies, targets) = (spec.table("policies")?, spec.table("targets")?);
    spec.leave_rest(imported, |_| "no such setting of a Resiliency");
    let Some(policies) = policies else { return Ok(()) };
    let (timeouts, retries) = (policies.table("timeouts")?, policies.table("retries")?);
    let named = Named { timeouts, retries, breakers: policies.table("circuitBreakers")? };
    policies.leave_rest(imported, |_| "no such kind of policy");
    let mut found = false;
    for kind in ["apps", "actors", "components"] {
        let Some(kind) = targets.as_ref().map_or(Ok(None), |targets| targets.table(kind))? else {
            continue;
        };
        for (name, target) in kind.named() {
            found = true;
            let parts = [target.table("outbound")?, target.table("inbound")?];
            if parts.iter().all(Option::is_none) {
                let read = one(name, &target, &named, imported);
                imported.entry(read);
                continue;
            }
            for (part, direction) in parts.iter().zip(["outbound", "inbound"]) {
                let Some(part) = part else { continue };
                let read = one(&format!("{name} {direction}"), part, &named, imported);
                imported.entry(read);
            }
            target.leave_rest(imported, |_| "no such direction");
        }
    }
    if !found {
        alone(&named, imported)?;
    }
    Ok(())
}

/// The retries of a resource without targets.
fn alone(named: &Named<'_>, imported: &mut Imported) -> Result<(), ImportError> {
    let Some(retries) = &named.retries else { return Ok(()) };
    for (name, table) in retries.named() {
        let builder = self::retries(&table, imported)?;
        let policy = builder.build().map_err(table.refused("duration"))?;
        imported.add(SOURCE, name, &table.path, policy);
    }
    imported.note("The resource has no targets, so each of its retry policies is one policy.");
    Ok(())
}

fn one(
    name: &str,
    target: &SettingsTable<'_>,
    named: &Named<'_>,
    imported: &mut Imported,
) -> Result<(), ImportError> {
    let missing = |key: &str, name: &str| {
        ImportError::new(target.at(key), name, "the name of a policy of this resource")
    };
    let mut builder = Policy::builder().max_attempts(1).budget(BudgetPlan::Unlimited);
    if let Some(retry) = target.text("retry") {
        let found = of(named.retries.as_ref(), retry)?.ok_or_else(|| missing("retry", retry))?;
        builder = retries(&found, imported)?;
    }
    if let Some(timeout) = target.text("timeout") {
        let Some(all) = &named.timeouts else { return Err(missing("timeout", timeout)) };
        let limit = all.span(timeout, go, FORM)?.ok_or_else(|| missing("timeout", timeout))?;
        imported.has_read(all.at(timeout));
        builder = builder.attempt_timeout(limit);
    }
    if let Some(breaker) = target.text("circuitBreaker") {
        let found = of(named.breakers.as_ref(), breaker)?;
        let found = found.ok_or_else(|| missing("circuitBreaker", breaker))?;
        builder = builder.breaker(plan(&found, imported)?);
    }
    target.leave_rest(imported, |key| match key {
        "circuitbreakerscope" | "circuitbreakercachesize" => {
            "a breaker here is that of a destination"
        }
        _ => "no such setting of a target",
    });
    let policy = builder.build().map_err(target.refused("retry"))?;
    imported.add(SOURCE, name, &target.path, policy);
    Ok(())
}

/// The policy of a name.
fn of<'a>(
    all: Option<&SettingsTable<'a>>,
    name: &str,
) -> Result<Option<SettingsTable<'a>>, ImportError> {
    all.map_or(Ok(None), |all| all.table(name))
}

fn retries(
    table: &SettingsTable<'_>,
    imported: &mut Imported,
) -> Result<PolicyBuilder, ImportError> {
    let grows =
        table.word("policy", &[("constant", false), ("exponential", true)])?.unwrap_or(false);
    let retries = match table.get("maxRetries").map(|(_, value)| value) {
        Some(value) if value.as_i64() == Some(-1) || value.as_str() == Some("-1") => None,
        Some(_) => table.count("maxRetries", (0, u32::MAX - 1))?,
        None => None,
    };
    let mut builder = Policy::builder().budget(BudgetPlan::Unlimited);
    if grows {
        let cap = table.span("maxInterval", go, FORM)?.unwrap_or(LONGEST);
        let factor = Factor::try_from(1.5).map_err(table.refused("policy"))?;
        let rule = Backoff::new(Envelope::Exponential(factor), INITIAL.min(cap), cap);
        let rule =
            rule.and_then(|rule| rule.with_jitter(Jitter::Symmetric(Ratio::from_percent(50))));
        builder = builder.backoff(rule.map_err(table.refused("maxInterval"))?);
        if retries.is_none() {
            builder = builder.deadline(ELAPSED);
        }
    } else {
        let base = table.span("duration", go, FORM)?.unwrap_or(CONSTANT);
        let rule = Backoff::constant(base).with_jitter(Jitter::None);
        builder = builder.backoff(rule.map_err(table.refused("duration"))?);
        imported.note("Constant retries of Dapr have no jitter: callers that fail together come back together.");
    }
    table.leave_rest(imported, |key| match key {
        "matching" => "which failures are retried is said where calls are classified",
        _ => "no such setting of retries",
    });
    Ok(builder.max_attempts(retries.map_or(u32::MAX, |retries| retries + 1)))
}

fn plan(table: &SettingsTable<'_>, imported: &mut Imported) -> Result<BreakerPlan, ImportError> {
    let probes = table.count("maxRequests", (1, 100))?.unwrap_or(1);
    let open = table.span("timeout", go, FORM)?.unwrap_or(OPEN);
    let trip = table.text("trip");
    let failures = trip.map_or(Some(FAILURES + 1), consecutive);
    if failures.is_none() {
        let why = "only consecutiveFailures against a number is known; taken as more than 5";
        table.nearly("trip", why, imported);
    }
    table.leave_rest(imported, |key| match key {
        "interval" => "failures in a row are counted without an interval",
        _ => "no such setting of a circuit breaker",
    });
    BreakerPlan::builder()
        .ratio(None)
        .consecutive(failures.unwrap_or(FAILURES + 1))
        .open_time(open)
        .open_factor(Ratio::ONE)
        .open_cap(open)
        .probes(probes)
        .build()
        .map_err(table.refused("timeout"))
}

/// The failures of `consecutiveFailures >= n` or `consecutiveFailures > n`, the forms of Dapr's pages.
fn consecutive(trip: &str) -> Option<u32> {
    let rest = trip.trim().strip_prefix("consecutiveFailures")?.trim_start();
    let (number, more) = match rest.strip_prefix(">=") {
        Some(number) => (number, 0),
        None => (rest.strip_prefix('>')?, 1),
    };
    number.trim().parse::<u32>().ok()?.checked_add(more).filter(|failures| *failures > 0)
}
