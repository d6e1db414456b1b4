//! The AWS SDKs' standard retry mode, before 2026 ("2.0") and since ("2.1"): whole calls.

use std::collections::BTreeMap;

use serde::Deserialize;
use stagger_core::budget::TokenPlan;
use stagger_core::retry::{Action, Call, Launched, PlainLedger, Session, Stop, Wait};
use stagger_core::{Backoff, Cause, ConfigError, Hint, Instant, Outcome, Policy, Span, Verdict};

use super::Suite;
use crate::entropy::highest;

const SPEC_2_0: &str = include_str!("../../../../vectors/aws-retry/standard-2.0.yaml");
const SPEC_2_1: &str = include_str!("../../../../vectors/aws-retry/standard-2.1.yaml");
const JS: &str = include_str!("../../../../vectors/aws-retry/js-timings.json");

/// Before 2026 the JavaScript SDK had its own bases, a tenth and a half of the specified second.
const JS_BASE: Span = Span::from_millis(100);
const JS_THROTTLED_BASE: Span = Span::from_millis(500);
/// The cap of every AWS delay.
const CAP: Span = Span::from_secs(20);
/// Nothing in these files depends on the time.
const NOW: Instant = Instant::ORIGIN;

/// Runs the vectors of these files.
pub(super) fn run() -> Vec<Suite> {
    let old: Spec20 = serde_saphyr::from_str(SPEC_2_0).expect("the file is as it was copied");
    let new: Spec21 = serde_saphyr::from_str(SPEC_2_1).expect("the file is as it was copied");
    let js: Js = serde_json::from_str(JS).expect("the file is as it was copied");
    let (v20, v21) = (Policy::aws_standard_2_0(), Policy::aws_standard_2_1());
    let v20 = (v20, TokenPlan::aws_2_0());
    let v21 = (v21, TokenPlan::aws_2_1());
    vec![
        calls("standard-2.0.yaml", &v20, &old.integration),
        calls("standard-2.1.yaml: calls", &v21, &new.integration),
        calls("standard-2.1.yaml: long polling", &v21, &new.long_polling),
        calls("standard-2.1.yaml: several calls", &v21, &new.multi_invocation),
        threads("standard-2.1.yaml: threads", &v21, &new.multi_threaded),
        timings(&js.cases, &v20, &v21),
    ]
}

#[derive(Deserialize)]
struct Spec20 {
    #[serde(rename = "standardRetryIntegrationTestCases")]
    integration: Vec<CallCase>,
}

#[derive(Deserialize)]
struct Spec21 {
    #[serde(rename = "newStandardRetryIntegrationTestCases")]
    integration: Vec<CallCase>,
    #[serde(rename = "newStandardRetryLongPollingTestCases")]
    long_polling: Vec<CallCase>,
    #[serde(rename = "newStandardRetryMultiInvocationTestCases")]
    multi_invocation: Vec<CallCase>,
    #[serde(rename = "newStandardRetryMultiThreadedTestCases")]
    multi_threaded: Vec<ThreadsCase>,
}

#[derive(Deserialize)]
struct CallCase {
    name: String,
    given: AwsSettings,
    responses: Vec<Exchange>,
}

#[derive(Deserialize)]
struct ThreadsCase {
    name: String,
    given: AwsSettings,
    threads: Vec<Vec<Exchange>>,
    expected_final_quota: u64,
}

/// The preset under which a case runs, and its bucket.
type Preset = (Policy, TokenPlan);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AwsSettings {
    max_attempts: Option<u32>,
    initial_retry_tokens: Option<u32>,
    max_backoff_time: Option<f64>,
    #[serde(default)]
    long_polling: bool,
    /// The random factor of the vectors: always 1, the longest delay.
    exponential_base: f64,
    /// Always 2, where it is given.
    exponential_power: Option<f64>,
    /// A name that changes no rule beside `long_polling`.
    #[serde(rename = "service")]
    _service: Option<String>,
}

impl AwsSettings {
    fn policy(&self, (preset, bucket): &Preset) -> Result<Policy, ConfigError> {
        assert!(self.exponential_base == 1.0 && self.exponential_power.unwrap_or(2.0) == 2.0);
        let mut builder = preset.to_builder().pause_when_empty(self.long_polling);
        if let Some(attempts) = self.max_attempts {
            builder = builder.max_attempts(attempts);
        }
        if let Some(tokens) = self.initial_retry_tokens {
            builder = builder.budget(bucket.with_initial(tokens)?);
        }
        if let Some(cap) = self.max_backoff_time {
            let cap = span(cap);
            builder = builder.backoff(Backoff::exponential(preset.backoff().base(), cap)?);
        }
        builder.build()
    }
}

#[derive(Deserialize)]
struct Exchange {
    response: Response,
    expected: Expected,
}

#[derive(Deserialize)]
struct Response {
    status_code: u16,
    error_code: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

impl Response {
    fn outcome(&self) -> Outcome {
        let verdict = match (self.status_code, self.error_code.as_deref()) {
            (200, _) => Verdict::Ok,
            (_, Some("Throttling")) => Verdict::Throttled,
            (500 | 502 | 503 | 504, _) => Verdict::Transient,
            _ => Verdict::Permanent,
        };
        let hint = self.headers.get("x-amz-retry-after").and_then(|value| value.parse().ok());
        let outcome = Outcome::new(verdict);
        match hint {
            Some(ms) => outcome.with_hint(Hint::AtLeast(Span::from_millis(ms))),
            None => outcome,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Expected {
    outcome: String,
    retry_quota: Option<u64>,
    delay: Option<f64>,
}

fn calls(file: &str, preset: &Preset, cases: &[CallCase]) -> Suite {
    let mut suite = Suite::new(format!("aws-retry/{file}"));
    for case in cases {
        let policy = case.given.policy(preset).expect("the file's settings are valid");
        let mut ledger = PlainLedger::new(&policy);
        let mut client = AwsThread::new(&policy);
        let got: Vec<_> =
            case.responses.iter().map(|exchange| client.answer(&mut ledger, exchange)).collect();
        let want: Vec<_> = case.responses.iter().map(|row| row.expected.clone()).collect();
        suite.check(&case.name, &got, &want);
    }
    suite
}

/// The file names no order between its threads: there must be one in which all is as written.
fn threads(file: &str, preset: &Preset, cases: &[ThreadsCase]) -> Suite {
    let mut suite = Suite::new(format!("aws-retry/{file}"));
    for case in cases {
        let policy = case.given.policy(preset).expect("the file's settings are valid");
        let threads: Vec<_> =
            case.threads.iter().map(|rows| (AwsThread::new(&policy), &rows[..])).collect();
        let left = some_order(&PlainLedger::new(&policy), &threads);
        suite.check(&case.name, &left, &Some(case.expected_final_quota));
    }
    suite
}

/// The tokens left after the first order in which every exchange is as written, if there is one.
fn some_order(ledger: &PlainLedger, threads: &[(AwsThread<'_>, &[Exchange])]) -> Option<u64> {
    if threads.iter().all(|(_, rows)| rows.is_empty()) {
        return Some(ledger.budget().level(NOW).held);
    }
    (0..threads.len()).find_map(|turn| {
        let (mut ledger, mut threads) = (ledger.clone(), threads.to_vec());
        let (client, rows) = &mut threads[turn];
        let (row, rest) = rows.split_first()?;
        *rows = rest;
        let as_written = client.answer(&mut ledger, row) == row.expected;
        as_written.then(|| some_order(&ledger, &threads))?
    })
}

/// One thread of calls, one after the other, that share a ledger with others.
#[derive(Clone)]
struct AwsThread<'p> {
    policy: &'p Policy,
    under_way: Option<(Session<'p>, Launched)>,
}

impl<'p> AwsThread<'p> {
    const fn new(policy: &'p Policy) -> Self {
        Self { policy, under_way: None }
    }

    /// The SDK's step after a response, in the file's words. Figures that the row leaves open
    /// stay open, but an end that it gives no delay must have none.
    fn answer(&mut self, ledger: &mut PlainLedger, exchange: &Exchange) -> Expected {
        let (mut session, launched) = self.under_way.take().unwrap_or_else(|| self.begin(ledger));
        let outcome = exchange.response.outcome();
        let act = session.on_outcome(ledger, NOW, launched, &outcome, &mut highest());
        let held = ledger.budget().level(NOW).held;
        let (word, delay) = match act {
            Action::Wait(Wait::Until(wake)) => {
                let Action::Attempt(next) = session.on_wake(ledger, wake) else {
                    unreachable!("neither a breaker nor a deadline stands before it")
                };
                self.under_way = Some((session, next));
                ("retry_request", exchange.expected.delay.and(Some((wake - NOW).as_secs_f64())))
            }
            Action::Done(done) => (word(done.stop), seconds(done.pause)),
            Action::Attempt(_) | Action::Hedge(_) | Action::Wait(Wait::Copies { .. }) => {
                ("?", None)
            }
        };
        let retry_quota = exchange.expected.retry_quota.and(Some(held));
        Expected { outcome: word.into(), retry_quota, delay }
    }

    fn begin(&self, ledger: &mut PlainLedger) -> (Session<'p>, Launched) {
        match Session::start(self.policy, ledger, Call::idempotent(), NOW) {
            (session, Action::Attempt(first)) => (session, first),
            _ => unreachable!("nothing stands before a first attempt without a breaker"),
        }
    }
}

const fn word(stop: Stop) -> &'static str {
    match stop {
        Stop::Succeeded => "success",
        Stop::AttemptsExhausted => "max_attempts_exceeded",
        Stop::BudgetEmpty => "retry_quota_exceeded",
        _ => "fail_request",
    }
}

fn seconds(pause: Span) -> Option<f64> {
    (!pause.is_zero()).then(|| pause.as_secs_f64())
}

fn span(seconds: f64) -> Span {
    Span::from(std::time::Duration::from_secs_f64(seconds))
}

#[derive(Deserialize)]
struct Js {
    cases: Vec<JsCase>,
}

#[derive(Deserialize)]
struct JsCase {
    name: String,
    retries_2026: bool,
    /// Tells the long-polling case of a name from the other.
    scope: Option<String>,
    steps: Vec<JsStep>,
}

#[derive(Deserialize)]
struct JsStep {
    error_type: String,
    cost: Option<u64>,
    delay_ms: u64,
    long_poll: bool,
}

impl JsStep {
    /// Before 2026 this SDK charges every transient failure what others charge a timeout.
    fn outcome(&self, since_2026: bool) -> Outcome {
        match &*self.error_type {
            "THROTTLING" => Outcome::new(Verdict::Throttled),
            _ if since_2026 => Outcome::new(Verdict::Transient),
            _ => Outcome::new(Verdict::Transient).with_cause(Cause::Timeout),
        }
    }
}

fn timings(cases: &[JsCase], v20: &Preset, v21: &Preset) -> Suite {
    let mut suite = Suite::new("aws-retry/js-timings.json");
    for case in cases {
        let policy = case.policy(if case.retries_2026 { &v21.0 } else { &v20.0 });
        let policy = policy.expect("the file's settings are valid");
        let name = format!("{}{}", case.name, case.scope.as_deref().unwrap_or_default());
        let name = if case.retries_2026 { format!("{name}, 2026") } else { name };
        let retries = &case.steps[1..];
        let want: Vec<_> = retries.iter().map(|step| (step.cost, step.delay_ms)).collect();
        suite.check(name, &case.retries(&policy), &want);
    }
    suite
}

impl JsCase {
    fn policy(&self, preset: &Policy) -> Result<Policy, ConfigError> {
        let attempts = u32::try_from(self.steps.len()).expect("a dozen at most");
        let mut builder = preset.to_builder().max_attempts(attempts);
        if !self.retries_2026 {
            builder = builder
                .backoff(Backoff::exponential(JS_BASE, CAP)?)
                .throttled_backoff(Backoff::exponential(JS_THROTTLED_BASE, CAP)?);
        }
        builder.pause_when_empty(self.steps.iter().any(|step| step.long_poll)).build()
    }

    /// The cost of every retry, and its delay in milliseconds. The first step is no retry: it only
    /// names the token's default.
    fn retries(&self, policy: &Policy) -> Vec<(Option<u64>, u64)> {
        let mut ledger = PlainLedger::new(policy);
        let (mut session, mut launched) = AwsThread::new(policy).begin(&mut ledger);
        let mut retries = Vec::new();
        for step in &self.steps[1..] {
            let before = ledger.budget().level(NOW).held;
            let outcome = step.outcome(self.retries_2026);
            let act = session.on_outcome(&mut ledger, NOW, launched, &outcome, &mut highest());
            let Action::Wait(Wait::Until(wake)) = act else { break };
            let cost = before - ledger.budget().level(NOW).held;
            retries.push((Some(cost), (wake - NOW).as_nanos() / 1_000_000));
            let Action::Attempt(next) = session.on_wake(&mut ledger, wake) else { break };
            launched = next;
        }
        retries
    }
}
