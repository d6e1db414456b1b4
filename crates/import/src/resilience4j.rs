//! resilience4j for Spring Boot: `retry`, `circuitbreaker` and `timelimiter` instances of one name.
//!
//! Defaults: resilience4j.readme.io/docs/retry (3 attempts, 500 ms), /docs/circuitbreaker (50 %, 100
//! calls, 60 s open, 10 probes), `IntervalFunction` (multiplier 1.5, randomisation 0.5).

use serde_json::{Map, Value};
use stagger_core::breaker::{BreakerPlan, WindowKind};
use stagger_core::budget::BudgetPlan;
use stagger_core::{Backoff, Envelope, Factor, Jitter, Policy, Ratio, Span};

use crate::duration::spring;
use crate::table::{SettingsTable, plain};
use crate::{ImportError, ImportSource, Imported};

const FORM: &str = "a time such as 500ms, 2s or PT2S, or milliseconds";
const WAIT: Span = Span::from_millis(500);
/// The engine's own largest window of calls.
const MOST_CALLS: u32 = 1_000;

pub(crate) fn import(tree: &Value) -> Result<Imported, ImportError> {
    let mut imported = Imported::new(ImportSource::Resilience4j);
    let Some(root) = tree.as_object() else { return Ok(imported) };
    let Some(root) = SettingsTable::new("", root).table("resilience4j")? else {
        return Ok(imported);
    };
    let (retries, breakers) = (instances(&root, "retry")?, instances(&root, "circuitbreaker")?);
    let limits = instances(&root, "timelimiter")?;
    let mut names: Vec<&str> = retries.iter().map(|one| one.name.as_str()).collect();
    names.extend(
        breakers
            .iter()
            .map(|one| one.name.as_str())
            .filter(|name| !retries.iter().any(|one| one.name == *name)),
    );
    for name in names {
        let find = |all: &'_ [Instance]| all.iter().position(|one| one.name == name);
        let retry = find(&retries).map(|i| retries[i].table());
        let breaker = find(&breakers).map(|i| breakers[i].table());
        let limit = find(&limits).map(|i| limits[i].table());
        let mut builder = Policy::builder().budget(BudgetPlan::Unlimited).max_attempts(1);
        if let Some(retry) = &retry {
            let attempts = retry.count("maxAttempts", (1, u32::MAX))?;
            let older = retry.count("maxRetryAttempts", (1, u32::MAX))?;
            let attempts = attempts.or(older).unwrap_or(3);
            builder =
                builder.max_attempts(attempts).backoff(backoff(retry, attempts, &mut imported)?);
            retry.leave_rest(&mut imported, why_retry);
        }
        if let Some(breaker) = &breaker {
            builder = builder.breaker(plan(breaker, &mut imported)?);
            breaker.leave_rest(&mut imported, why_breaker);
        }
        if let Some(limit) = &limit {
            let time = limit.span("timeoutDuration", spring, FORM)?.unwrap_or(Span::from_secs(1));
            builder = builder.attempt_timeout(time);
            limit.leave_rest(
                &mut imported,
                |_| "a running call is always dropped when its time is over",
            );
        }
        let error =
            |error| ImportError::new(format!("resilience4j.*.{name}"), "", format!("{error}"));
        imported.add(name, builder.build().map_err(error)?);
    }
    root.leave_rest(&mut imported, |_| "not about retries, breakers or time limits");
    imported.note("resilience4j has no budget, so it is unlimited: [budget.window] would bound the retries of an outage.");
    imported
        .note("resilience4j reads no hints; here Retry-After and its kin are obeyed up to 60 s.");
    Ok(imported)
}

/// The settings of one instance, with those of its base below them.
struct Instance {
    name: String,
    path: String,
    map: Map<String, Value>,
}

impl Instance {
    fn table(&self) -> SettingsTable<'_> {
        SettingsTable::new(self.path.clone(), &self.map)
    }
}

fn instances(root: &SettingsTable<'_>, kind: &str) -> Result<Vec<Instance>, ImportError> {
    let Some(kind) = root.table(kind)? else { return Ok(Vec::new()) };
    let configs = kind.table("configs")?;
    // `backends` is the older name.
    let Some(all) =
        kind.table("instances")?.map_or_else(|| kind.table("backends"), |it| Ok(Some(it)))?
    else {
        return Ok(Vec::new());
    };
    let read = |(name, table): (&str, SettingsTable<'_>)| {
        let base = table.get("baseConfig").and_then(|(_, value)| value.as_str());
        let below = configs
            .iter()
            .flat_map(SettingsTable::named)
            .find(|(known, _)| *known == base.unwrap_or("default"));
        if let (Some(base), None) = (base, &below) {
            return Err(ImportError::new(
                table.at("baseConfig"),
                base,
                "the name of a table in configs",
            ));
        }
        let mut map = Map::new();
        for (key, value) in
            below.iter().flat_map(|(_, table)| table.entries()).chain(table.entries())
        {
            map.retain(|known, _| plain(known) != plain(key));
            if plain(key) != "baseconfig" {
                map.insert(key.to_owned(), value.clone());
            }
        }
        Ok(Instance { name: name.to_owned(), path: table.path, map })
    };
    all.named().into_iter().map(read).collect()
}

fn backoff(
    retry: &SettingsTable<'_>,
    attempts: u32,
    imported: &mut Imported,
) -> Result<Backoff, ImportError> {
    let base = retry.span("waitDuration", spring, FORM)?.unwrap_or(WAIT);
    let grows = retry.flag("enableExponentialBackoff")?.unwrap_or(false);
    let random = retry.flag("enableRandomizedWait")?.unwrap_or(false);
    let multiplier =
        retry.number("exponentialBackoffMultiplier", (1.0, 1_000_000.0))?.unwrap_or(1.5);
    let longest = retry.span("exponentialMaxWaitDuration", spring, FORM)?;
    let spread = retry.number("randomizedWaitFactor", (0.0, 1.0))?.unwrap_or(0.5);
    let rule = if grows {
        let factor =
            Factor::try_from(multiplier).map_err(retry.refused("exponentialBackoffMultiplier"))?;
        let free = Backoff::new(Envelope::Exponential(factor), base, Span::MAX);
        let free = free.map_err(retry.refused("waitDuration"))?;
        // Without a longest wait the last ceiling is the cap: none that is reached is cut.
        let cap = longest.unwrap_or_else(|| free.ceiling(attempts - 1)).max(base);
        Backoff::new(free.envelope(), base, cap)
            .map_err(retry.refused("exponentialMaxWaitDuration"))?
    } else {
        Backoff::constant(base)
    };
    let law = if random {
        Jitter::Symmetric(retry.share("randomizedWaitFactor", spread)?)
    } else {
        Jitter::None
    };
    if !random {
        imported.note("Without enableRandomizedWait there is no jitter: callers that fail together come back together.");
    } else if longest.is_some() && grows {
        retry.nearly(
            "exponentialMaxWaitDuration",
            "here it bounds the ceiling, and randomised waits may exceed it by their factor",
            imported,
        );
    }
    rule.with_jitter(law).map_err(retry.refused("randomizedWaitFactor"))
}

fn plan(table: &SettingsTable<'_>, imported: &mut Imported) -> Result<BreakerPlan, ImportError> {
    let timed = table.word("slidingWindowType", &[("COUNT_BASED", false), ("TIME_BASED", true)])?;
    let size = table.count("slidingWindowSize", (1, u32::MAX))?.unwrap_or(100);
    let minimum = table.count("minimumNumberOfCalls", (1, u32::MAX))?.unwrap_or(100);
    let percent = |key: &str, usual: f64| -> Result<Ratio, ImportError> {
        let share = table.number(key, (0.000_1, 100.0))?.unwrap_or(usual) / 100.0;
        table.share(key, share)
    };
    let (window, minimum) = if timed.unwrap_or(false) {
        (WindowKind::Time(Span::from_secs(u64::from(size))), minimum)
    } else {
        if size > MOST_CALLS {
            table.nearly(
                "slidingWindowSize",
                "cut to 1000 calls, the largest window here",
                imported,
            );
        }
        // As there: a window of calls can never hold more than its size.
        let size = size.min(MOST_CALLS);
        (WindowKind::Calls(size), minimum.min(size))
    };
    let open = table.span("waitDurationInOpenState", spring, FORM)?.unwrap_or(Span::from_secs(60));
    let slow =
        table.span("slowCallDurationThreshold", spring, FORM)?.unwrap_or(Span::from_secs(60));
    let probes = table.count("permittedNumberOfCallsInHalfOpenState", (1, 100))?.unwrap_or(10);
    imported.note(
        "A breaker of resilience4j closes when fewer probes fail than its threshold; here all of them \
         must be good. Its open time is stretched at random by up to a half here.",
    );
    BreakerPlan::builder()
        .window(window)
        .ratio(percent("failureRateThreshold", 50.0)?)
        .minimum_calls(minimum)
        .slow_calls(slow, percent("slowCallRateThreshold", 100.0)?)
        .open_time(open)
        .open_factor(Ratio::ONE)
        .open_cap(open)
        .probes(probes)
        .build()
        .map_err(table.refused("waitDurationInOpenState"))
}

fn why_retry(key: &str) -> &'static str {
    match key {
        "retryexceptions"
        | "ignoreexceptions"
        | "retryexceptionpredicate"
        | "resultpredicate"
        | "retryonresultpredicate" => {
            "which failures are retried is said where calls are classified"
        }
        "failaftermaxattempts" => "the last error always comes back, with the stop reason",
        "eventconsumerbuffersize" => "events go to tracing and metrics",
        _ => "no such setting here",
    }
}

fn why_breaker(key: &str) -> &'static str {
    match key {
        "recordexceptions"
        | "ignoreexceptions"
        | "recordfailurepredicate"
        | "ignoreexceptionpredicate" => {
            "what counts as a failure is said where calls are classified"
        }
        "automatictransitionfromopentohalfopenenabled" => {
            "the first call after the open time is the probe; no timer is needed"
        }
        "maxwaitdurationinhalfopenstate" => {
            "a probe that hangs loses its place after a lease instead"
        }
        "registerhealthindicator" | "eventconsumerbuffersize" => "events go to tracing and metrics",
        _ => "no such setting here",
    }
}
