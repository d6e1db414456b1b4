//! HTTP-dates, `RateLimit` fields and gRPC's pushback: strings that are read as hints.
//!
//! curl reads dates of many shapes; the rows of `http-date/curl-lib517.json` that are in the grammar of
//! RFC 9110 section 5.6.7 must be read as curl reads them, the others refused.
//!
//! `ratelimit-headers/draft-examples.json` holds field lines without values to expect. They are read a
//! second time here by cutting at commas and semicolons, which is enough for these lines, and compared
//! value by value.
//!
//! `committed` and `previous_attempts_header` of `grpc/pushback.json` are about streams and sent headers,
//! not about reading a hint: they run with the integration that sends them, over sockets, in stagger's
//! `tests/tonic/vectors.rs`, and are not counted here.

use serde::Deserialize;
use stagger_core::hint::{
    RateLimit, RateLimitPolicy, WallTime, http_date, pushback, rate_limit_hint,
};
use stagger_core::{Hint, Span};

use super::Suite;

#[derive(Deserialize)]
struct HttpDateFile {
    cases: Vec<HttpDateCase>,
}

#[derive(Deserialize)]
struct HttpDateCase {
    value: String,
    /// -1 is refused by curl too: no such time of day.
    curl_epoch: i64,
    rfc9110_form: Option<String>,
}

/// Runs the vectors of this file.
pub(super) fn dates() -> Vec<Suite> {
    let text = include_str!("../../../../vectors/http-date/curl-lib517.json");
    let file: HttpDateFile = serde_json::from_str(text).expect("a vector file that is JSON");
    let mut suite = Suite::new("http-date/curl-lib517.json");
    // 2020: the one two-digit year in the grammar, 94, is then 1994 by the 50-year rule.
    let now = Some(WallTime::from_unix_secs(1_577_836_800));
    for case in file.cases {
        let want = case.rfc9110_form.map(|_| case.curl_epoch).filter(|&epoch| epoch != -1);
        let got = http_date(case.value.as_bytes(), now).map(WallTime::unix_secs);
        suite.check(case.value, &got, &want);
    }
    vec![suite]
}

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
pub(super) fn rate_limits() -> Vec<Suite> {
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

#[derive(Deserialize)]
struct PushbackFile {
    cases: Vec<PushbackCase>,
}

#[derive(Deserialize)]
struct PushbackCase {
    values: Vec<String>,
    retry: bool,
    min_delay_ms: Option<u64>,
}

#[derive(Deserialize)]
struct Linkerd {
    grpc_retry_pushback_ms: LinkerdList,
}

#[derive(Deserialize)]
struct LinkerdList {
    cap_ms: u64,
    cases: Vec<LinkerdCase>,
}

#[derive(Deserialize)]
struct LinkerdCase {
    value: Option<String>,
    ms: Option<u64>,
}

/// Runs the vectors of this file.
pub(super) fn pushbacks() -> Vec<Suite> {
    vec![grpc(), linkerd()]
}

fn grpc() -> Suite {
    let text = include_str!("../../../../vectors/grpc/pushback.json");
    let file: PushbackFile = serde_json::from_str(text).expect("a vector file that is JSON");
    let mut suite = Suite::new("grpc/pushback.json cases");
    for case in file.cases {
        let got = pushback(case.values.iter().map(String::as_bytes));
        let exact = case.min_delay_ms.map(|ms| Hint::Exactly(Span::from_millis(ms)));
        let want = if case.retry { exact } else { Some(Hint::Never) };
        suite.check(format!("{:?}", case.values), &got, &want);
    }
    suite
}

fn linkerd() -> Suite {
    let text = include_str!("../../../../vectors/retry-after/linkerd.json");
    let file: Linkerd = serde_json::from_str(text).expect("a vector file that is JSON");
    let mut suite = Suite::new("retry-after/linkerd.json grpc_retry_pushback_ms");
    let list = file.grpc_retry_pushback_ms;
    for case in list.cases {
        let row = format!("{:?}", case.value);
        let got = pushback(case.value.as_deref().map(str::as_bytes));
        let theirs = case.ms.map(|ms| Hint::Exactly(Span::from_millis(ms)));
        let digits = case.value.as_deref().and_then(|value| value.trim().parse::<u64>().ok());
        match (case.value, digits) {
            (Some(_), None) => suite.differ(
                row,
                (&got, &Some(Hint::Never), &theirs),
                "gRFC A6: a negative or unreadable pushback forbids the retry; linkerd reads it for a breaker",
            ),
            (_, Some(ms)) if ms > list.cap_ms => suite.differ(
                row,
                (&got, &Some(Hint::Exactly(Span::from_millis(ms))), &theirs),
                "reading does not shorten a hint; what is too long is refused by the policy",
            ),
            _ => suite.check(row, &got, &theirs),
        }
    }
    suite
}
