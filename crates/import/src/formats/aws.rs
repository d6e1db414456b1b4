//! The AWS SDKs: `retry_mode` and `max_attempts` of a profile in the configuration file, or in the environment.
//!
//! Source: <https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html> (standard mode, 3 attempts).

use serde_json::{Map, Value};
use stagger_core::Policy;
use stagger_core::adaptive::AdaptivePlan;

use super::format::{Export, Format, Page};
use crate::export::aws_text;
use crate::source::FormatInfo;
use crate::table::SettingsTable;
use crate::{ImportError, ImportSource, Imported, RetryLayer};

pub(super) const FORMAT: Format = Format {
    source: SOURCE,
    recognizes,
    import,
    export: Some(Export { write: aws_text, comment: Some("#") }),
};

const SOURCE: ImportSource = ImportSource::new(&FormatInfo {
    name: "aws",
    product: "the AWS SDKs",
    documentation: "https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html",
    layer: RetryLayer::Client,
    words: &[
        ("limits.max_attempts", "max_attempts"),
        ("backoff", "retry_mode"),
        ("budget", "retry_mode"),
        ("adaptive", "retry_mode"),
    ],
});

const MODE: (&str, &str) = ("retry_mode", "AWS_RETRY_MODE");
const ATTEMPTS: (&str, &str) = ("max_attempts", "AWS_MAX_ATTEMPTS");
const LEGACY_ATTEMPTS: u32 = 5;

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Standard,
    Adaptive,
    Legacy,
}

const MODES: [(&str, Mode); 3] =
    [("standard", Mode::Standard), ("adaptive", Mode::Adaptive), ("legacy", Mode::Legacy)];

/// A section of INI with one of the settings, or variables of the environment.
fn recognizes(tree: &Value) -> bool {
    let Some(map) = tree.as_object() else { return false };
    let profile = |(name, section): (&String, &Value)| {
        is_profile(name) && [MODE.0, ATTEMPTS.0].iter().any(|key| section.get(key).is_some())
    };
    [MODE.1, ATTEMPTS.1].iter().any(|key| map.contains_key(*key)) || map.iter().any(profile)
}

fn is_profile(section: &str) -> bool {
    section == "default" || section.starts_with("profile ")
}

fn import(pages: &[Page<'_>], imported: &mut Imported) -> Result<(), ImportError> {
    for page in pages {
        imported.begin(page.document);
        let Some(map) = page.map() else { continue };
        if [MODE.1, ATTEMPTS.1].iter().any(|key| map.contains_key(*key)) {
            let table = SettingsTable::exact(page.path.clone(), map);
            let others = |key: &&String| {
                !key.starts_with("AWS_") || !(key.contains("RETRY") || key.contains("ATTEMPTS"))
            };
            table.ignore(&map.keys().filter(others).map(String::as_str).collect::<Vec<_>>());
            let read = one(&table, "aws", (MODE.1, ATTEMPTS.1), imported);
            imported.entry(read);
            continue;
        }
        for (name, section) in map.iter().filter(|(name, _)| is_profile(name)) {
            let read = section
                .as_object()
                .map_or(Ok(()), |section| profile(page, name, section, imported));
            imported.entry(read);
        }
    }
    Ok(())
}

fn profile(
    page: &Page<'_>,
    name: &str,
    section: &Map<String, Value>,
    imported: &mut Imported,
) -> Result<(), ImportError> {
    let table = SettingsTable::exact(page.at(name), section);
    let others = |key: &&String| !key.contains("retry") && !key.contains("attempts");
    table.ignore(&section.keys().filter(others).map(String::as_str).collect::<Vec<_>>());
    if !table.has(MODE.0) && !table.has(ATTEMPTS.0) {
        table.leave_rest(imported, |_| "no such setting of retries");
        return Ok(());
    }
    let shown = name.strip_prefix("profile ").unwrap_or(name).trim();
    one(&table, shown, (MODE.0, ATTEMPTS.0), imported)
}

fn one(
    table: &SettingsTable<'_>,
    name: &str,
    (mode, attempts): (&str, &str),
    imported: &mut Imported,
) -> Result<(), ImportError> {
    let kind = table.word(mode, &MODES)?.unwrap_or(Mode::Standard);
    let most = table.count(attempts, (1, u32::MAX))?;
    let policy = Policy::aws_standard_2_1();
    let mut builder = policy.to_builder();
    match kind {
        Mode::Standard => {}
        Mode::Adaptive => builder = builder.adaptive(AdaptivePlan::Cubic),
        Mode::Legacy => {
            let why = "each SDK has its own legacy mode; taken as standard mode with 5 attempts";
            table.nearly(mode, why, imported);
            builder = builder.max_attempts(LEGACY_ATTEMPTS);
        }
    }
    if let Some(most) = most {
        builder = builder.max_attempts(most);
    }
    table.leave_rest(imported, |_| "no such setting of retries");
    imported.note(
        "The delays and the quota are those of the SDKs since 2026 (2.1); clients of DynamoDB make 4 \
         attempts from 25 ms, and older SDKs wait from 1 s (stagger has both as presets).",
    );
    let policy = builder.build().map_err(table.refused(attempts))?;
    imported.add(SOURCE, name, &table.path, policy);
    Ok(())
}
