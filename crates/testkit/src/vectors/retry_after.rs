//! Retry-After and its kin, as six other clients read them: all files of `retry-after/`.
//!
//! The clients mix reading with policy (caps, defaults). Here only the reading is compared: their
//! caps are rows that we answer otherwise, because a hint is never shortened when it is read.

use serde::Deserialize;
use serde_json::{Map, Value};
use stagger_core::hint::{HintReader, WallTime, retry_after, retry_after_ms};
use stagger_core::{Hint, Policy, Span};

use super::Suite;
use crate::lowest;

const NOT_SHORTENED: &str =
    "reading does not shorten a hint; the policy refuses what is longer than max_hint";

#[derive(Deserialize)]
struct RetryAfterFile {
    cases: Vec<RetryAfterCase>,
    #[serde(default)]
    should_retry: Vec<ShouldRetry>,
}

/// A row of any of the files: they share one vocabulary.
#[derive(Deserialize)]
struct RetryAfterCase {
    value: Option<String>,
    status: Option<u16>,
    #[serde(default)]
    headers: Map<String, Value>,
    ok: Option<bool>,
    seconds: Option<f64>,
    delay: Option<f64>,
    server_value_used: Option<bool>,
    result: Option<String>,
}

#[derive(Deserialize)]
struct ShouldRetry {
    headers: Map<String, Value>,
    retry: bool,
}

macro_rules! file {
    ($name:literal) => {
        serde_json::from_str::<RetryAfterFile>(include_str!(concat!(
            "../../../../vectors/retry-after/",
            $name
        )))
        .expect("a vector file that is JSON")
    };
}

/// Runs the vectors of this file.
pub(super) fn run() -> Vec<Suite> {
    let openai = file!("openai-python.json");
    vec![
        azure(file!("azure-rust.json")),
        botocore(file!("botocore-x-amz-retry-after.json")),
        linkerd(file!("linkerd.json")),
        openai_values(openai.cases),
        openai_should_retry(openai.should_retry),
        smithy(file!("smithy-typescript.json")),
        urllib3(file!("urllib3.json")),
    ]
}

fn azure(file: RetryAfterFile) -> Suite {
    let mut suite = Suite::new("retry-after/azure-rust.json");
    // 2021-01-01T00:00:00Z.
    let now = WallTime::from_unix_secs(1_609_459_200);
    for case in file.cases {
        let got = from_headers(&case.headers, now);
        suite.check(format!("{:?}", case.headers), &got, &case.seconds.map(span));
    }
    suite
}

/// The delay of the AWS preset, whose rule for hints is the one of the file.
fn botocore(file: RetryAfterFile) -> Suite {
    let mut suite = Suite::new("retry-after/botocore-x-amz-retry-after.json");
    let policy = Policy::aws_standard_2_1();
    let own = policy.backoff().ceiling(1);
    for case in file.cases {
        let value = case.value.unwrap_or_default();
        let hint = retry_after_ms(value.as_bytes());
        let got = hint.map_or(own, |hint| policy.hints().delay(own, hint, &mut lowest()));
        suite.check(value, &got, &span(case.delay.expect("a row with a delay")));
    }
    suite
}

fn linkerd(file: RetryAfterFile) -> Suite {
    const CAP: Span = Span::from_secs(300);
    let mut suite = Suite::new("retry-after/linkerd.json cases");
    // Any time after the dates of the file; this is 2024.
    let now = Some(WallTime::from_unix_secs(1_704_067_200));
    for case in file.cases {
        let row = format!("{:?} {:?}", case.status, case.value);
        let got = case.value.as_deref().and_then(|value| retry_after(value.as_bytes(), now));
        let theirs = case.seconds.map(span);
        match got {
            Some(hint) if hint > CAP => {
                suite.differ(row, (&got, &case.value.and_then(whole), &theirs), NOT_SHORTENED);
            }
            Some(_) if case.status == Some(200) => suite.differ(
                row,
                (&got, &case.value.and_then(whole), &theirs),
                "a hint on 200 causes no retry, but a loop that polls may read it",
            ),
            _ => suite.check(row, &got, &theirs),
        }
    }
    suite
}

/// openai-python's rows of values: a hint counts as unused when there is none, or when it is 0,
/// which leaves the own delay as it is.
fn openai_values(cases: Vec<RetryAfterCase>) -> Suite {
    let mut suite = Suite::new("retry-after/openai-python.json cases");
    for case in cases {
        let value = case.value.unwrap_or_default();
        let hint = retry_after(value.as_bytes(), Some(openai_now()));
        let got = hint.filter(|hint| !hint.is_zero());
        let used = case.server_value_used.unwrap_or_default();
        let theirs = case.seconds.map(span).filter(|_| used);
        match got {
            Some(hint) if hint > OPENAI_LONGEST => suite.differ(
                &value,
                (&got, &Some(unbounded(&value)), &theirs),
                "a hint that is too long ends the call; it is not replaced by a delay that is shorter",
            ),
            _ => suite.check(value, &got, &theirs),
        }
    }
    suite
}

/// openai-python gives up where the hint is longer than it is willing to wait, as we do with
/// `max_hint` set to the same length.
fn openai_should_retry(rows: Vec<ShouldRetry>) -> Suite {
    let mut suite = Suite::new("retry-after/openai-python.json should_retry");
    for row in rows {
        let hint = from_headers(&row.headers, openai_now());
        let got = hint.is_some_and(|hint| hint <= OPENAI_LONGEST);
        suite.check(format!("{:?}", row.headers), &got, &row.retry);
    }
    suite
}

const OPENAI_LONGEST: Span = Span::from_secs(120);

/// The whole of a hint that openai-python finds too long: a date, or digits, saturating.
fn unbounded(value: &str) -> Span {
    match httpdate::parse_http_date(value) {
        Ok(date) => openai_now().until(WallTime::from(date)),
        Err(_) => whole(value.into()).unwrap_or(Span::MAX),
    }
}

fn openai_now() -> WallTime {
    WallTime::from_unix_secs(1_696_004_797)
}

fn smithy(file: RetryAfterFile) -> Suite {
    let mut suite = Suite::new("retry-after/smithy-typescript.json");
    let now = Span::from_millis(1_773_769_074_339);
    let date = std::time::UNIX_EPOCH + (now + Span::from_secs(30)).to_duration();
    let date = httpdate::fmt_http_date(date);
    for case in file.cases {
        let mut headers = case.headers;
        for value in headers.values_mut() {
            let text = value.as_str().unwrap_or_default();
            *value = text.replace("<IMF-fixdate of now+30s>", &date).into();
        }
        let got = from_headers(&headers, WallTime::from_unix(now));
        let millis =
            case.result.as_deref().map(|r| r.trim_start_matches("now+").trim_end_matches("ms"));
        let want = millis.map(|ms| Span::from_millis(ms.parse().expect("a row in milliseconds")));
        suite.check(format!("{headers:?}"), &got, &want);
    }
    suite
}

fn urllib3(file: RetryAfterFile) -> Suite {
    let mut suite = Suite::new("retry-after/urllib3.json");
    // 2019-06-03T11:00:00Z.
    let now = Some(WallTime::from_unix_secs(1_559_559_600));
    for case in file.cases {
        let value = case.value.unwrap_or_default();
        let got = retry_after(value.as_bytes(), now);
        let theirs = case.seconds.map(span).filter(|_| case.ok == Some(true));
        match value.as_str() {
            "1.0" => suite.differ(
                value,
                (&got, &Some(Span::from_secs(1)), &theirs),
                "servers send fractions; dropping them loses the hint",
            ),
            utc if utc.ends_with(" UTC") => suite.differ(
                value,
                (&got, &None, &theirs),
                "no HTTP-date: RFC 9110 has two digits for the day, and GMT",
            ),
            long if whole(long.into()) > theirs && theirs.is_some() => {
                suite.differ(&value, (&got, &whole(value.clone()), &theirs), NOT_SHORTENED);
            }
            _ => suite.check(value, &got, &theirs),
        }
    }
    suite
}

/// The wait in a row's headers.
fn from_headers(headers: &Map<String, Value>, now: WallTime) -> Option<Span> {
    let lines = headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str().unwrap_or_default().as_bytes()));
    match HintReader::new().read(lines, Some(now)) {
        Some(Hint::AtLeast(span)) => Some(span),
        _ => None,
    }
}

/// A value of digits alone, in seconds.
fn whole(value: String) -> Option<Span> {
    value.trim().parse().ok().map(Span::from_secs)
}

/// Seconds as the files write them, to the nanosecond.
fn span(seconds: f64) -> Span {
    Span::from(core::time::Duration::from_secs_f64(seconds))
}
