//! HAProxy: `retries`, `retry-on` and timeouts of backends, over those of `defaults`.
//!
//! Defaults: <https://docs.haproxy.org/dev/configuration.html#4.2-retries> (three retries) and
//! <https://docs.haproxy.org/dev/configuration.html#4.2-retry-on> (of failed connections only). Before a new connection
//! to the same server it waits for `timeout connect`, at most one second.

use serde_json::{Map, Value};
use stagger_core::budget::BudgetPlan;
use stagger_core::{Backoff, Jitter, Policy, Span};

use super::format::{Format, Page};
use crate::source::FormatInfo;
use crate::spans::haproxy;
use crate::table::SettingsTable;
use crate::{ImportError, ImportSource, Imported, RetryLayer};

pub(super) const FORMAT: Format = Format { source: SOURCE, recognizes, import, export: None };

const SOURCE: ImportSource = ImportSource::new(&FormatInfo {
    name: "haproxy",
    product: "HAProxy",
    documentation: "https://docs.haproxy.org/dev/configuration.html#4.2-retry-on",
    layer: RetryLayer::Gateway,
    words: &[
        ("limits.max_attempts", "retries"),
        ("limits.attempt_timeout", "timeout server"),
        ("backoff", "timeout connect"),
    ],
});

const FORM: &str = "a time such as 500ms, 10s or 1m, or milliseconds";
const RETRIES: u32 = 3;
const TURN_AROUND: Span = Span::from_secs(1);

fn is_section(name: &str, kinds: &[&str]) -> bool {
    kinds.contains(&name.split(' ').next().unwrap_or(name))
}

/// A document with a section of servers, in the notation that no other format has.
fn recognizes(tree: &Value) -> bool {
    let sections = tree.as_object().into_iter().flatten();
    sections.into_iter().any(|(name, section)| {
        is_section(name, &["backend", "listen"]) && name.contains(' ') && section.is_object()
    })
}

fn import(pages: &[Page<'_>], imported: &mut Imported) -> Result<(), ImportError> {
    for page in pages {
        imported.begin(page.document);
        let Some(map) = page.map() else { continue };
        for (name, section) in
            map.iter().filter(|(name, _)| is_section(name, &["backend", "listen"]))
        {
            let Some(section) = section.as_object() else { continue };
            let defaults = defaults(map, name);
            let shown = name.split(' ').nth(1).unwrap_or(name);
            let read = one(page, (name, section), defaults, shown, imported);
            imported.entry(read);
        }
    }
    imported.note("HAProxy has no budget, so it is unlimited: [budget.window] would bound the retries of an outage.");
    imported.note("HAProxy reads no hints; here Retry-After and its kin are obeyed up to 60 s.");
    Ok(())
}

/// The defaults that a section names behind `from`, or those without a name.
fn defaults<'a>(
    map: &'a Map<String, Value>,
    section: &str,
) -> Option<(&'a str, &'a Map<String, Value>)> {
    let named = section.split_once(" from ").map(|(_, name)| format!("defaults {}", name.trim()));
    let asked = named.unwrap_or_else(|| "defaults".to_owned());
    let (name, value) = map.get_key_value(&asked)?;
    Some((name, value.as_object()?))
}

fn one(
    page: &Page<'_>,
    (name, section): (&str, &Map<String, Value>),
    defaults: Option<(&str, &Map<String, Value>)>,
    shown: &str,
    imported: &mut Imported,
) -> Result<(), ImportError> {
    let own = SettingsTable::exact(page.at(name), section);
    let around = defaults.map(|(name, map)| SettingsTable::exact(page.at(name), map));
    let level = |key: &str| {
        let levels = [Some(&own), around.as_ref()];
        levels.into_iter().flatten().find(|level| level.has(key))
    };
    let retries =
        level("retries").map_or(Ok(None), |level| level.count("retries", (0, u32::MAX - 1)))?;
    let on = level("retry-on").and_then(|level| level.text("retry-on")).unwrap_or("conn-failure");
    let none = on.split(' ').any(|word| word == "none");
    let retries = if none { 0 } else { retries.unwrap_or(RETRIES) };
    let connections = on.split(' ').all(|word| ["conn-failure", "none"].contains(&word));
    let connect = level("timeout connect")
        .map_or(Ok(None), |level| level.span("timeout connect", haproxy, FORM))?;
    let wait =
        if connections { connect.unwrap_or(TURN_AROUND).min(TURN_AROUND) } else { Span::ZERO };
    let rule = Backoff::constant(wait)
        .with_jitter(Jitter::None)
        .map_err(own.refused("timeout connect"))?;
    let mut builder =
        Policy::builder().max_attempts(retries + 1).backoff(rule).budget(BudgetPlan::Unlimited);
    let limit = level("timeout server")
        .map_or(Ok(None), |level| level.span("timeout server", haproxy, FORM))?;
    if let Some(limit) = limit.filter(|limit| !limit.is_zero()) {
        imported.note("timeout server is the longest silence of a server; here it is the time of a whole attempt.");
        builder = builder.attempt_timeout(limit);
    }
    imported.note(if connections {
        "Before a new connection to the same server HAProxy waits for timeout connect, at most 1 s, without jitter."
    } else {
        "HAProxy repeats a request at once when a reply failed; only after failed connections it waits up to 1 s."
    });
    for level in [Some(&own), around.as_ref()].into_iter().flatten() {
        rest(level, imported);
    }
    let policy = builder.build().map_err(own.refused("retries"))?;
    imported.add(SOURCE, shown, &own.path, policy);
    Ok(())
}

/// Leaves out what else is about retries in a section.
fn rest(level: &SettingsTable<'_>, imported: &mut Imported) {
    let why = "which failures are retried is said where calls are classified";
    level.nearly("retry-on", why, imported);
    let about = |key: &&str| {
        ["retr", "redispatch"].iter().any(|word| key.contains(word))
            || ["timeout connect", "timeout server"].iter().any(|word| key.starts_with(word))
    };
    let others: Vec<&str> = level.entries().map(|(key, _)| key).filter(|key| !about(key)).collect();
    level.ignore(&others);
    level.leave_rest(imported, |key| match key {
        "option redispatch" | "no option redispatch" => "the choice of a server is the connector's",
        _ => "no such setting of retries",
    });
}
