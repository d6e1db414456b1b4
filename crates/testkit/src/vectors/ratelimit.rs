//! `RateLimit` and `RateLimit-Policy`: every example of the draft, `ratelimit-headers/draft-examples.json`.
//!
//! The file holds field lines without values to expect. They are read a second time here by cutting
//! at commas and semicolons, which is enough for these lines, and compared value by value.

use serde::Deserialize;
use stagger_core::Span;
use stagger_core::hint::{RateLimit, RateLimitPolicy, rate_limit_hint};

use super::Suite;

#[derive(Deserialize)]
struct RateLimitFile {
    examples: Vec<Example>,
}

#[derive(Deserialize)]
struct Example {
    line: u32,
    field: String,
    value: String,
    remark: Option<String>,
}

/// Runs the vectors of this file.
pub(super) fn run() -> Vec<Suite> {
    let text = include_str!("../../../../vectors/ratelimit-headers/draft-examples.json");
    let file: RateLimitFile = serde_json::from_str(text).expect("a vector file that is JSON");
    let mut suite = Suite::new("ratelimit-headers/draft-examples.json");
    for example in file.examples {
        let row = format!("line {}: {}: {}", example.line, example.field, example.value);
        let ignored = example.remark.is_some_and(|remark| remark.contains("ignore the field"));
        let items = (!ignored).then(|| cut(&example.value));
        if example.field == "RateLimit" {
            let got = RateLimit::parse(example.value.as_bytes());
            let hint = got.as_deref().and_then(|limits| rate_limit_hint(limits, &[]));
            let want = items.map(|items| items.iter().map(limit).collect::<Vec<_>>());
            let used_up = want.iter().flatten().filter(|limit| limit.remaining == 0);
            let longest = used_up.filter_map(|limit| limit.reset).max();
            suite.check(row, &(got, hint), &(want, longest));
        } else {
            let got = RateLimitPolicy::parse(example.value.as_bytes());
            let want = items.map(|items| items.iter().map(policy).collect::<Vec<_>>());
            suite.check(row, &got, &want);
        }
    }
    vec![suite]
}

/// An item as its name and its `key=value` parts.
type PolicyItem<'v> = (&'v str, Vec<(&'v str, &'v str)>);

fn cut(value: &str) -> Vec<PolicyItem<'_>> {
    fn item(text: &str) -> PolicyItem<'_> {
        let mut parts = text.trim().split(';');
        let name = parts.next().unwrap_or_default().trim_matches('"');
        (name, parts.filter_map(|part| part.split_once('=')).collect())
    }
    value.split(',').map(item).collect()
}

fn number((_, parts): &PolicyItem<'_>, key: &str) -> Option<u64> {
    parts.iter().find(|(name, _)| *name == key)?.1.parse().ok()
}

fn limit(item: &PolicyItem<'_>) -> RateLimit {
    RateLimit {
        name: item.0.into(),
        remaining: number(item, "r").unwrap_or(u64::MAX),
        reset: number(item, "t").map(Span::from_secs),
    }
}

fn policy(item: &PolicyItem<'_>) -> RateLimitPolicy {
    RateLimitPolicy {
        name: item.0.into(),
        quota: number(item, "q").unwrap_or(u64::MAX),
        window: number(item, "w").map(Span::from_secs),
    }
}
