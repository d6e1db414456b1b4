//! Polly 8 strategies, and the standard handlers of Microsoft.Extensions.Http.Resilience.
//!
//! Defaults: <https://www.pollydocs.org/strategies/retry.html> (3 retries, constant, 2 s, no jitter),
//! <https://www.pollydocs.org/strategies/circuit-breaker.html> (0.1, 100 calls in 30 s, 5 s open),
//! <https://www.pollydocs.org/strategies/timeout.html> (30 s) and
//! <https://learn.microsoft.com/dotnet/core/resilience/http-resilience> (the standard handler retries exponentially with
//! jitter, 10 s an attempt, 30 s in all; the hedging handler sends one copy more after 2 s).

use serde_json::{Map, Value};
use stagger_core::budget::BudgetPlan;
use stagger_core::{Policy, PolicyBuilder, Span};

use super::format::{Export, Format, Page};
use super::polly_parts::{FORM, breaker_of, hedge_of, retry_of};
use crate::export::polly_text;
use crate::key::plain;
use crate::source::FormatInfo;
use crate::spans::timespan;
use crate::table::SettingsTable;
use crate::{ImportError, ImportSource, Imported, RetryLayer};

pub(super) const FORMAT: Format = Format {
    source: SOURCE,
    recognizes,
    import,
    export: Some(Export { write: polly_text, comment: Some("//") }),
};

const SOURCE: ImportSource = ImportSource::new(&FormatInfo {
    name: "polly",
    product: "Polly",
    documentation: "https://www.pollydocs.org/strategies/retry.html",
    layer: RetryLayer::Client,
    words: &[
        ("limits.max_attempts", "Retry.MaxRetryAttempts"),
        ("limits.attempt_timeout", "AttemptTimeout.Timeout"),
        ("limits.deadline", "TotalRequestTimeout.Timeout"),
        ("backoff.base", "Retry.Delay"),
        ("backoff.cap", "Retry.MaxDelay"),
        ("backoff.envelope", "Retry.BackoffType"),
        ("backoff.jitter", "Retry.UseJitter"),
        ("hints", "Retry.ShouldRetryAfterHeader"),
        ("breaker.ratio", "CircuitBreaker.FailureRatio"),
        ("breaker.minimum_calls", "CircuitBreaker.MinimumThroughput"),
        ("breaker.window", "CircuitBreaker.SamplingDuration"),
        ("breaker.open_time", "CircuitBreaker.BreakDuration"),
        ("hedge.copies", "Hedging.MaxHedgedAttempts"),
        ("hedge", "Hedging.Delay"),
    ],
});

const STRATEGIES: [&str; 6] =
    ["retry", "circuitbreaker", "attempttimeout", "totalrequesttimeout", "timeout", "hedging"];
/// Keys that only a strategy of Polly has.
const OWN: [&str; 7] = [
    "maxretryattempts",
    "maxhedgedattempts",
    "attempttimeout",
    "totalrequesttimeout",
    "backofftype",
    "failureratio",
    "breakduration",
];

/// Keys of strategies that others may have too.
const SHARED: [&str; 7] = [
    "delay",
    "maxdelay",
    "usejitter",
    "timeout",
    "minimumthroughput",
    "samplingduration",
    "shouldretryafterheader",
];

fn recognizes(tree: &Value) -> bool {
    tree.as_object().is_some_and(|map| {
        map.iter().any(|(key, value)| OWN.contains(&plain(key).as_str()) || recognizes(value))
    })
}

fn import(pages: &[Page<'_>], imported: &mut Imported) -> Result<(), ImportError> {
    for page in pages {
        imported.begin(page.document);
        walk(&page.path, page.tree, "polly", imported);
    }
    imported.note("Polly has no budget, so it is unlimited: [budget.window] would bound the retries of an outage.");
    imported.note("MaxRetryAttempts counts retries; max_attempts counts the first attempt too, so it is one more.");
    Ok(())
}

fn walk(path: &str, tree: &Value, name: &str, imported: &mut Imported) {
    let Value::Object(map) = tree else { return };
    let own = |key: &String| OWN.contains(&plain(key).as_str());
    let known = |key: &String| own(key) || SHARED.contains(&plain(key).as_str());
    let settings = |value: &Value| match value {
        Value::Object(map) => map.is_empty() || map.keys().any(known) || recognizes(value),
        _ => false,
    };
    let strategy = |(key, value): (&String, &Value)| {
        let time = value.is_string() && plain(key).ends_with("timeout") && plain(key) != "timeout";
        STRATEGIES.contains(&plain(key).as_str()) && (settings(value) || time)
    };
    let table = SettingsTable::new(path, map);
    if map.keys().any(|key| matches!(plain(key).as_str(), "maxretryattempts" | "backofftype")) {
        let read = retry_of(Policy::builder(), &table, false, imported);
        let read = read.and_then(|builder| finish(&table, builder, name, imported));
        return imported.entry(read);
    }
    if map.iter().any(strategy) {
        let read = pipeline(&table, name, imported);
        return imported.entry(read);
    }
    if map.keys().any(own) {
        let why = "settings of a strategy below a key that is none of Polly's strategies";
        imported.leave_out(path, tree, why);
    }
    for (key, value) in map {
        let at = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        walk(&at, value, key, imported);
    }
}

fn pipeline(
    table: &SettingsTable<'_>,
    name: &str,
    imported: &mut Imported,
) -> Result<(), ImportError> {
    let hedged = table.has("Hedging") || table.has("Endpoint");
    let standard = table.has("AttemptTimeout") || (table.has("TotalRequestTimeout") && !hedged);
    let empty = Map::new();
    let part = |key: &str| -> Result<Option<SettingsTable<'_>>, ImportError> {
        let given = table.table(key)?;
        Ok(given.or_else(|| standard.then(|| SettingsTable::new(table.at(key), &empty))))
    };
    let mut builder = Policy::builder().max_attempts(1);
    if let Some(retry) = part("Retry")? {
        builder = retry_of(builder, &retry, standard, imported)?;
    }
    if let Some(breaker) = part("CircuitBreaker")? {
        builder = builder.breaker(breaker_of(&breaker, imported)?);
    }
    if hedged {
        builder = hedging(builder, table, imported)?;
    }
    let usual = |known: bool, seconds: u64| known.then(|| Span::from_secs(seconds));
    if let Some(limit) = time(table, "AttemptTimeout", imported)?.or(usual(standard, 10)) {
        builder = builder.attempt_timeout(limit);
    }
    if let Some(limit) =
        time(table, "TotalRequestTimeout", imported)?.or(usual(standard || hedged, 30))
    {
        builder = builder.deadline(limit);
    }
    if let Some(limit) = time(table, "Timeout", imported)? {
        table.nearly("Timeout", "taken as the outer one, the deadline; if it stands inside of the retry it is limits.attempt_timeout", imported);
        builder = builder.deadline(limit);
    }
    table.leave_rest(imported, |key| match key {
        "ratelimiter" => "a limit on first attempts is not part of a policy",
        "name" | "selectionmode" => "a name or a way to select, not a setting of retries",
        _ => "no such strategy here",
    });
    finish(table, builder, name, imported)
}

/// A timeout strategy: a table, or the time alone. One without a time has Polly's usual 30 s, or 10 s an attempt.
fn time(
    table: &SettingsTable<'_>,
    key: &str,
    imported: &mut Imported,
) -> Result<Option<Span>, ImportError> {
    if table.get(key).is_some_and(|(_, value)| value.is_string()) {
        return table.span(key, timespan, FORM);
    }
    let Some(limit) = table.table(key)? else { return Ok(None) };
    let usual = Span::from_secs(if key == "AttemptTimeout" { 10 } else { 30 });
    let time = limit.span("Timeout", timespan, FORM)?.unwrap_or(usual);
    limit.leave_rest(imported, |_| "code or a name, not a setting");
    Ok(Some(time))
}

/// The hedging handler: copies instead of retries, and strategies of each endpoint.
fn hedging(
    mut builder: PolicyBuilder,
    table: &SettingsTable<'_>,
    imported: &mut Imported,
) -> Result<PolicyBuilder, ImportError> {
    let empty = Map::new();
    let hedging = table.table("Hedging")?;
    let hedging = hedging.unwrap_or_else(|| SettingsTable::new(table.at("Hedging"), &empty));
    let plan = hedge_of(&hedging, imported)?;
    builder = builder.max_attempts(plan.copies()).hedge(plan);
    let endpoint = table.table("Endpoint")?;
    let endpoint = endpoint.unwrap_or_else(|| SettingsTable::new(table.at("Endpoint"), &empty));
    let breaker = endpoint.table("CircuitBreaker")?;
    let breaker =
        breaker.unwrap_or_else(|| SettingsTable::new(endpoint.at("CircuitBreaker"), &empty));
    builder = builder.breaker(breaker_of(&breaker, imported)?);
    let limit = time(&endpoint, "Timeout", imported)?.unwrap_or(Span::from_secs(10));
    endpoint.leave_rest(imported, |_| "a limit on first attempts is not part of a policy");
    Ok(builder.attempt_timeout(limit))
}

fn finish(
    table: &SettingsTable<'_>,
    builder: PolicyBuilder,
    name: &str,
    imported: &mut Imported,
) -> Result<(), ImportError> {
    let built = builder.budget(BudgetPlan::Unlimited).build();
    let policy =
        built.map_err(|error| ImportError::new(table.path.clone(), "", error.to_string()))?;
    imported.add(SOURCE, name, &table.path, policy);
    Ok(())
}
