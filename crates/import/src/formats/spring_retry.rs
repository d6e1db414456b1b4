//! Spring Retry as Spring Boot and Spring Cloud configure it: listeners and templates of RabbitMQ, topics of Kafka,
//! bindings of Spring Cloud Stream, and the client of Spring Cloud Config.
//!
//! Defaults: <https://docs.spring.io/spring-boot/appendix/application-properties/index.html> (RabbitMQ: off, 3 attempts
//! from 1 s, times 1, up to 10 s; Kafka: off, 3 attempts, 1 s), <https://docs.spring.io/spring-cloud-config/reference/client.html>
//! (6 attempts from 1 s, times 1.1, up to 2 s) and
//! <https://docs.spring.io/spring-cloud-stream/reference/spring-cloud-stream/consumer-properties.html> (3 attempts from
//! 1 s, times 2, up to 10 s).

use serde_json::Value;
use stagger_core::budget::BudgetPlan;
use stagger_core::{Backoff, Envelope, Factor, Jitter, Policy, Ratio, Span};

use super::format::{Format, Page};
use crate::key::plain;
use crate::source::FormatInfo;
use crate::spans::spring;
use crate::table::SettingsTable;
use crate::{ImportError, ImportSource, Imported, RetryLayer};

pub(super) const FORMAT: Format =
    Format { source: SOURCE, recognizes: |tree| !tables(tree).is_empty(), import, export: None };

const SOURCE: ImportSource = ImportSource::new(&FormatInfo {
    name: "spring-retry",
    product: "Spring Retry",
    documentation: "https://docs.spring.io/spring-boot/appendix/application-properties/index.html",
    layer: RetryLayer::Workflow,
    words: &[
        ("limits.max_attempts", "retry.max-attempts"),
        ("backoff.base", "retry.initial-interval"),
        ("backoff.cap", "retry.max-interval"),
        ("backoff.factor", "retry.multiplier"),
        ("backoff.jitter", "backoff.random"),
    ],
});

const FORM: &str = "a time such as 500ms, 2s or PT2S, or milliseconds";

/// The usual values of one place.
#[derive(Clone, Copy)]
struct Usual {
    enabled: bool,
    attempts: u32,
    base: Span,
    factor: f64,
    cap: Span,
}

const RABBIT: Usual = usual(false, 3, 1.0, 10);
const KAFKA: Usual = usual(false, 3, 0.0, 30);
const CONFIG: Usual = usual(true, 6, 1.1, 2);
const STREAM: Usual = usual(true, 3, 2.0, 10);

const fn usual(enabled: bool, attempts: u32, factor: f64, cap: u64) -> Usual {
    Usual { enabled, attempts, base: Span::from_secs(1), factor, cap: Span::from_secs(cap) }
}

/// The places of retries below `spring`; `*` is any name.
const PLACES: [(&str, Usual); 6] = [
    ("rabbitmq.listener.simple.retry", RABBIT),
    ("rabbitmq.listener.direct.retry", RABBIT),
    ("rabbitmq.template.retry", RABBIT),
    ("kafka.retry.topic", KAFKA),
    ("cloud.config.retry", CONFIG),
    ("cloud.stream.bindings.*.consumer", STREAM),
];

/// The tables of retries in a document: path, name, settings, usual values.
fn tables(tree: &Value) -> Vec<(String, String, &Value, Usual)> {
    let Some(root) = tree.get("spring") else { return Vec::new() };
    let mut found = Vec::new();
    for (place, usual) in PLACES {
        let mut at = vec![("spring".to_owned(), root)];
        for part in place.split('.') {
            let children = at.iter().flat_map(|(path, table)| {
                let children = table.as_object().into_iter().flatten();
                let named = children.filter(|(key, _)| part == "*" || plain(key) == plain(part));
                named.map(move |(key, value)| (format!("{path}.{key}"), value))
            });
            at = children.collect();
        }
        let retries = |table: &Value| {
            let keys = table.as_object().into_iter().flatten();
            place != "cloud.stream.bindings.*.consumer"
                || keys.into_iter().any(|(key, _)| {
                    plain(key) == "maxattempts" || plain(key).starts_with("backoff")
                })
        };
        found.extend(at.into_iter().filter(|(_, table)| table.is_object() && retries(table)).map(
            |(path, table)| {
                let name =
                    path.trim_start_matches("spring.").trim_end_matches(".retry").replace('.', "-");
                (path, name, table, usual)
            },
        ));
    }
    found
}

fn import(pages: &[Page<'_>], imported: &mut Imported) -> Result<(), ImportError> {
    for page in pages {
        imported.begin(page.document);
        for (path, name, table, usual) in tables(page.tree) {
            let Some(map) = table.as_object() else { continue };
            let table = SettingsTable::new(page.at(&path), map);
            let read = one(&table, &name, usual, imported);
            imported.entry(read);
        }
    }
    imported.note("Spring Retry has no budget, so it is unlimited: [budget.window] would bound the retries of an outage.");
    imported
        .note("Spring Retry reads no hints; here Retry-After and its kin are obeyed up to 60 s.");
    Ok(())
}

fn one(
    table: &SettingsTable<'_>,
    name: &str,
    usual: Usual,
    imported: &mut Imported,
) -> Result<(), ImportError> {
    let enabled = table.flag("enabled")?.unwrap_or(usual.enabled);
    let attempts =
        table.count("max-attempts", (1, u32::MAX))?.or(table.count("attempts", (1, u32::MAX))?);
    // Spring Boot 4 counts retries.
    let retries = table.count("max-retries", (0, u32::MAX - 1))?.map(|retries| retries + 1);
    let attempts = attempts.or(retries).unwrap_or(usual.attempts);
    let backoff = table.table("backoff")?;
    let rule = rule(table, backoff.as_ref(), usual, imported)?;
    if let Some(backoff) = &backoff {
        backoff.leave_rest(imported, |_| "no such setting here");
    }
    if !enabled {
        imported.note("Retries that are not enabled are one attempt.");
    }
    table.ignore(&[
        "concurrency",
        "partitioned",
        "header-mode",
        "use-native-decoding",
        "instance-count",
        "group",
    ]);
    table.leave_rest(imported, |key| match key {
        "stateless" => "whether the state of retries is kept between deliveries is the listener's",
        "defaultretryable" | "retryableexceptions" => {
            "which failures are retried is said where calls are classified"
        }
        _ => "no such setting here",
    });
    let builder = Policy::builder().max_attempts(if enabled { attempts } else { 1 }).backoff(rule);
    let policy =
        builder.budget(BudgetPlan::Unlimited).build().map_err(table.refused("max-attempts"))?;
    imported.add(SOURCE, name, &table.path, policy);
    Ok(())
}

fn rule(
    table: &SettingsTable<'_>,
    inner: Option<&SettingsTable<'_>>,
    usual: Usual,
    imported: &mut Imported,
) -> Result<Backoff, ImportError> {
    let span = |keys: &[&str]| -> Result<Option<Span>, ImportError> {
        for key in keys {
            let found = [Some(table), inner].into_iter().flatten().find(|place| place.has(key));
            if let Some(place) = found {
                return place.span(key, spring, FORM);
            }
        }
        Ok(None)
    };
    let base =
        span(&["initial-interval", "back-off-initial-interval", "delay"])?.unwrap_or(usual.base);
    let cap = span(&["max-interval", "back-off-max-interval", "max-delay"])?;
    let place = inner.filter(|inner| inner.has("multiplier")).unwrap_or(table);
    let factor = place.number("multiplier", (0.0, 1_000_000.0))?;
    let factor =
        factor.or(table.number("back-off-multiplier", (0.0, 1_000_000.0))?).unwrap_or(usual.factor);
    let random = inner.map_or(Ok(None), |inner| inner.flag("random"))?;
    let random = random.or(table.flag("random-back-off")?).unwrap_or(false);
    if factor <= 1.0 {
        let rule = Backoff::constant(base).with_jitter(Jitter::None);
        imported.note(
            "Delays of Spring Retry have no jitter: callers that fail together come back together.",
        );
        return rule.map_err(table.refused("initial-interval"));
    }
    let cap = cap.filter(|cap| !cap.is_zero()).unwrap_or(usual.cap).max(base);
    let factor = Factor::try_from(factor).map_err(place.refused("multiplier"))?;
    let rule = Backoff::new(Envelope::Exponential(factor), base, cap)
        .map_err(table.refused("max-interval"))?;
    if random {
        let why =
            "Spring adds up to the growth of one step; here a delay is drawn half up and half down";
        inner.unwrap_or(table).nearly("random", why, imported);
    } else {
        imported.note(
            "Delays of Spring Retry have no jitter: callers that fail together come back together.",
        );
    }
    let jitter = if random { Jitter::Symmetric(Ratio::from_percent(50)) } else { Jitter::None };
    rule.with_jitter(jitter).map_err(table.refused("random"))
}
