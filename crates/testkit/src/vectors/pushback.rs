//! gRPC pushback: `grpc/pushback.json`, and the list inside `retry-after/linkerd.json`.
//!
//! `committed` and `previous_attempts_header` of the former are about streams and sent headers, not
//! about reading a hint: they run with the integration that sends them, over sockets, in stagger's
//! `tests/tonic/vectors.rs`, and are not counted here.

use serde::Deserialize;
use stagger_core::hint::pushback;
use stagger_core::{Hint, Span};

use super::Suite;

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
pub(super) fn run() -> Vec<Suite> {
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
