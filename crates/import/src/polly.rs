//! Polly 8 strategies, and `HttpStandardResilienceOptions` of Microsoft.Extensions.Http.Resilience.
//!
//! Defaults: pollydocs.org/strategies (retry: 3, constant, 2 s, no jitter; circuit breaker: 0.1, 100
//! calls in 30 s, 5 s open; timeout 30 s). The standard handler retries exponentially with jitter, 10 s
//! an attempt, 30 s in all.

use serde_json::{Map, Value};
use stagger_core::breaker::{BreakerPlan, WindowKind};
use stagger_core::budget::BudgetPlan;
use stagger_core::{Backoff, Jitter, Policy, PolicyBuilder, Ratio, Span};

use crate::duration::timespan;
use crate::table::{SettingsTable, plain};
use crate::{ImportError, ImportSource, Imported};

const FORM: &str = "a TimeSpan such as 00:00:02";
const DELAY: Span = Span::from_secs(2);
/// `RetryHelper`: a quarter up and a quarter down.
const JITTER: Jitter = Jitter::Symmetric(Ratio::from_percent(25));
const STRATEGIES: [&str; 5] =
    ["retry", "circuitbreaker", "attempttimeout", "totalrequesttimeout", "timeout"];

pub(crate) fn import(tree: &Value) -> Result<Imported, ImportError> {
    let mut imported = Imported::new(ImportSource::Polly);
    walk("", tree, "polly", &mut imported)?;
    imported.note("Polly has no budget, so it is unlimited: [budget.window] would bound the retries of an outage.");
    imported.note("MaxRetryAttempts counts retries; max_attempts counts the first attempt too, so it is one more.");
    Ok(imported)
}

fn walk(path: &str, tree: &Value, name: &str, imported: &mut Imported) -> Result<(), ImportError> {
    let Value::Object(map) = tree else { return Ok(()) };
    let strategy = |(key, value): (&String, &Value)| {
        STRATEGIES.contains(&plain(key).as_str()) && value.is_object()
    };
    if map.keys().any(|key| matches!(plain(key).as_str(), "maxretryattempts" | "backofftype")) {
        let retry = SettingsTable::new(path, map);
        let builder = retry_of(Policy::builder(), &retry, false, imported)?;
        return finish(&retry, builder, name, imported);
    }
    if map.iter().any(strategy) {
        return pipeline(&SettingsTable::new(path, map), name, imported);
    }
    for (key, value) in map {
        let at = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        walk(&at, value, key, imported)?;
    }
    Ok(())
}

fn pipeline(
    table: &SettingsTable<'_>,
    name: &str,
    imported: &mut Imported,
) -> Result<(), ImportError> {
    let standard = table.has("AttemptTimeout") || table.has("TotalRequestTimeout");
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
    let time = |key: &str, usual: u64| -> Result<Option<Span>, ImportError> {
        let Some(limit) = table.table(key)? else {
            return Ok((standard && key != "Timeout").then(|| Span::from_secs(usual)));
        };
        Ok(Some(limit.span("Timeout", timespan, FORM)?.unwrap_or(Span::from_secs(usual))))
    };
    if let Some(limit) = time("AttemptTimeout", 10)? {
        builder = builder.attempt_timeout(limit);
    }
    if let Some(limit) = time("TotalRequestTimeout", 30)? {
        builder = builder.deadline(limit);
    }
    if let Some(limit) = time("Timeout", 30)? {
        table.nearly("Timeout", "taken as the outer one, the deadline; if it stands inside of the retry it is limits.attempt_timeout", imported);
        builder = builder.deadline(limit);
    }
    table.leave_rest(imported, |key| match key {
        "ratelimiter" => "a limit on first attempts is not part of a policy",
        "hedging" => "say it as [hedge]: delay and copies",
        _ => "no such strategy here",
    });
    finish(table, builder, name, imported)
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
    imported.add(name, policy);
    Ok(())
}

#[derive(Clone, Copy)]
enum Growth {
    Constant,
    Linear,
    Exponential,
}

fn retry_of(
    builder: PolicyBuilder,
    retry: &SettingsTable<'_>,
    standard: bool,
    imported: &mut Imported,
) -> Result<PolicyBuilder, ImportError> {
    let words = [
        ("Constant", Growth::Constant),
        ("Linear", Growth::Linear),
        ("Exponential", Growth::Exponential),
    ];
    let usual = if standard { Growth::Exponential } else { Growth::Constant };
    let growth = retry.word("BackoffType", &words)?.unwrap_or(usual);
    let jitter = retry.flag("UseJitter")?.unwrap_or(standard);
    let retries = retry.count("MaxRetryAttempts", (1, u32::MAX - 1))?.unwrap_or(3);
    let delay = retry.span("Delay", timespan, FORM)?.unwrap_or(DELAY);
    let most = retry.span("MaxDelay", timespan, FORM)?;
    let smooth = jitter && matches!(growth, Growth::Exponential);
    // Polly's smooth jitter has the delay as its median and about twice that as its end: full jitter
    // under twice the ceiling has both.
    let base = if smooth { delay.saturating_mul(2) } else { delay };
    let free = match growth {
        Growth::Constant => Ok(Backoff::constant(base)),
        Growth::Linear => Backoff::linear(base, Span::MAX),
        Growth::Exponential => Backoff::exponential(base, Span::MAX),
    };
    let free = free.map_err(retry.refused("Delay"))?;
    let cap = most.unwrap_or_else(|| free.ceiling(retries));
    let rule =
        Backoff::new(free.envelope(), base.min(cap), cap).map_err(retry.refused("MaxDelay"))?;
    let law = match (jitter, smooth) {
        (false, _) => Jitter::None,
        (true, false) => JITTER,
        (true, true) => Jitter::Full,
    };
    if smooth {
        let (path, value) = (retry.at("UseJitter"), "true");
        imported.leave_out(path, value, "Polly's own smooth formula (decorrelated jitter v2) is not here; full jitter under twice the delay has its median and its range");
    } else if jitter && most.is_some() {
        retry.nearly(
            "MaxDelay",
            "here it bounds the ceiling, and jitter may exceed it by a quarter",
            imported,
        );
    } else if !jitter {
        imported.note("Without UseJitter callers that fail together come back together.");
    }
    match retry.flag("ShouldRetryAfterHeader")? {
        Some(false) => retry.nearly("ShouldRetryAfterHeader", "here Retry-After is obeyed up to hints.max", imported),
        Some(true) => {}
        None if standard => {}
        None => imported.note("Polly's plain retry reads no hints; here Retry-After and its kin are obeyed up to 60 s."),
    }
    retry.leave_rest(imported, |key| match key {
        "shouldhandle" | "delaygenerator" | "onretry" => {
            "code, not a setting: classify, and observe"
        }
        "name" => "the name of the strategy in telemetry",
        _ => "no such setting here",
    });
    let rule = rule.with_jitter(law).map_err(retry.refused("UseJitter"))?;
    Ok(builder.max_attempts(retries + 1).backoff(rule))
}

fn breaker_of(
    table: &SettingsTable<'_>,
    imported: &mut Imported,
) -> Result<BreakerPlan, ImportError> {
    let ratio = table.number("FailureRatio", (0.0, 1.0))?.unwrap_or(0.1);
    let minimum = table.count("MinimumThroughput", (2, u32::MAX))?.unwrap_or(100);
    let window = table.span("SamplingDuration", timespan, FORM)?.unwrap_or(Span::from_secs(30));
    let open = table.span("BreakDuration", timespan, FORM)?.unwrap_or(Span::from_secs(5));
    let share = table.share("FailureRatio", ratio)?;
    table.leave_rest(imported, |_| "code or a name, not a setting");
    imported.note("An open time is stretched at random by up to a half here, so that a fleet does not probe together.");
    BreakerPlan::builder()
        .window(WindowKind::Time(window))
        .ratio(share)
        .minimum_calls(minimum)
        .open_time(open)
        .open_factor(Ratio::ONE)
        .open_cap(open)
        .build()
        .map_err(|error| {
            let key = match error.field() {
                "breaker.ratio" => "FailureRatio",
                "breaker.window" => "SamplingDuration",
                "breaker.minimum_calls" => "MinimumThroughput",
                _ => "BreakDuration",
            };
            table.refused(key)(error)
        })
}
