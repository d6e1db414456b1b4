//! resilience4j for Spring Boot: `retry`, `circuitbreaker` and `timelimiter` instances of one name.
//!
//! Defaults: <https://resilience4j.readme.io/docs/retry> (3 attempts, 500 ms),
//! <https://resilience4j.readme.io/docs/circuitbreaker> (50 %, 100 calls, 60 s open, 10 probes) and
//! <https://resilience4j.readme.io/docs/timeout> (1 s); `IntervalFunction` (multiplier 1.5, randomisation 0.5).

use serde_json::Value;
use stagger_core::breaker::{BreakerPlan, WindowKind};
use stagger_core::budget::BudgetPlan;
use stagger_core::{Backoff, Envelope, Factor, Jitter, Policy, Ratio, Span};

use super::format::{Export, Format, Page};
use super::resilience4j_instances::{Instances, Profile, profiles};
use crate::export::resilience4j_text;
use crate::key::plain;
use crate::source::FormatInfo;
use crate::spans::spring;
use crate::table::SettingsTable;
use crate::{ImportError, ImportSource, Imported, RetryLayer};

pub(super) const FORMAT: Format = Format {
    source: SOURCE,
    recognizes,
    import,
    export: Some(Export { write: resilience4j_text, comment: Some("#") }),
};

const SOURCE: ImportSource = ImportSource::new(&FormatInfo {
    name: "resilience4j",
    product: "resilience4j",
    documentation: "https://resilience4j.readme.io/docs/getting-started-3#configuration",
    layer: RetryLayer::Client,
    words: &[
        ("limits.max_attempts", "retry.maxAttempts"),
        ("limits.attempt_timeout", "timelimiter.timeoutDuration"),
        ("backoff.base", "retry.waitDuration"),
        ("backoff.cap", "retry.exponentialMaxWaitDuration"),
        ("backoff.factor", "retry.exponentialBackoffMultiplier"),
        ("backoff.envelope", "retry.enableExponentialBackoff"),
        ("backoff.jitter", "retry.enableRandomizedWait"),
        ("breaker.window", "circuitbreaker.slidingWindowSize"),
        ("breaker.ratio", "circuitbreaker.failureRateThreshold"),
        ("breaker.minimum_calls", "circuitbreaker.minimumNumberOfCalls"),
        ("breaker.slow_after", "circuitbreaker.slowCallDurationThreshold"),
        ("breaker.slow_ratio", "circuitbreaker.slowCallRateThreshold"),
        ("breaker.open_time", "circuitbreaker.waitDurationInOpenState"),
        ("breaker.probes", "circuitbreaker.permittedNumberOfCallsInHalfOpenState"),
    ],
});

const FORM: &str = "a time such as 500ms, 2s or PT2S, or milliseconds";
const WAIT: Span = Span::from_millis(500);
/// The engine's own largest window of calls.
const MOST_CALLS: u32 = 1_000;

/// A document with a key `resilience4j`, or one that starts so: the pages of Spring write `resilience4j.retry:`.
fn recognizes(tree: &Value) -> bool {
    let own =
        |key: &String| key.split('.').next().is_some_and(|first| plain(first) == "resilience4j");
    tree.as_object().is_some_and(|map| map.keys().any(own))
}

fn import(pages: &[Page<'_>], imported: &mut Imported) -> Result<(), ImportError> {
    for profile in profiles(pages) {
        imported.begin(profile.document);
        let read = all(&profile, imported);
        imported.entry(read);
    }
    imported.note("resilience4j has no budget, so it is unlimited: [budget.window] would bound the retries of an outage.");
    imported
        .note("resilience4j reads no hints; here Retry-After and its kin are obeyed up to 60 s.");
    Ok(())
}

fn all(profile: &Profile, imported: &mut Imported) -> Result<(), ImportError> {
    let root = profile.table();
    let retries = Instances::read(&root, "retry", imported)?;
    let breakers = Instances::read(&root, "circuitbreaker", imported)?;
    let limits = Instances::read(&root, "timelimiter", imported)?;
    root.ignore(&[
        "bulkhead",
        "thread-pool-bulkhead",
        "ratelimiter",
        "scheduled",
        "micrometer",
        "health",
    ]);
    root.leave_rest(imported, |_| "not about retries, breakers or time limits");
    let mut names = retries.names();
    names.extend(breakers.names().into_iter().filter(|name| retries.get(name).is_none()));
    for name in names {
        let shown = profile.name_of(name);
        let read = one(&shown, [retries.get(name), breakers.get(name), limits.get(name)], imported);
        imported.entry(read);
    }
    Ok(())
}

fn one(
    name: &str,
    [retry, breaker, limit]: [Option<SettingsTable<'_>>; 3],
    imported: &mut Imported,
) -> Result<(), ImportError> {
    let mut builder = Policy::builder().budget(BudgetPlan::Unlimited).max_attempts(1);
    if let Some(retry) = &retry {
        let attempts = retry.count("maxAttempts", (1, u32::MAX))?;
        let older = retry.count("maxRetryAttempts", (1, u32::MAX))?;
        let attempts = attempts.or(older).unwrap_or(3);
        builder = builder.max_attempts(attempts).backoff(backoff(retry, attempts, imported)?);
        retry.leave_rest(imported, why_retry);
    }
    if let Some(breaker) = &breaker {
        builder = builder.breaker(plan(breaker, imported)?);
        breaker.leave_rest(imported, why_breaker);
    }
    if let Some(limit) = &limit {
        let time = limit.span("timeoutDuration", spring, FORM)?.unwrap_or(Span::from_secs(1));
        builder = builder.attempt_timeout(time);
        limit.leave_rest(imported, |_| "a running call is always dropped when its time is over");
    }
    let first = [&retry, &breaker, &limit].into_iter().flatten().next();
    let path = first.map_or_else(String::new, |table| table.path.clone());
    let error = |error| ImportError::new(format!("resilience4j.*.{name}"), "", format!("{error}"));
    imported.add(SOURCE, name, &path, builder.build().map_err(error)?);
    Ok(())
}

fn backoff(
    retry: &SettingsTable<'_>,
    attempts: u32,
    imported: &mut Imported,
) -> Result<Backoff, ImportError> {
    let base = retry.span("waitDuration", spring, FORM)?.unwrap_or(WAIT);
    let grows = retry.flag("enableExponentialBackoff")?.unwrap_or(false);
    if !grows {
        for key in ["exponentialBackoffMultiplier", "exponentialMaxWaitDuration"] {
            retry.nearly(
                key,
                "has no effect without enableExponentialBackoff, here neither",
                imported,
            );
        }
    }
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
        retry.nearly(
            "randomizedWaitFactor",
            "has no effect without enableRandomizedWait, here neither",
            imported,
        );
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
