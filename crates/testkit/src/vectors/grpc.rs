//! gRPC: what a service config may say, the cap of its attempts, and grpc-go's sequences of retries and of throttled calls.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use stagger_core::budget::{Settled, ThrottlePlan, ThrottleState};
use stagger_core::classify::Code;
use stagger_core::retry::{Action, Call, PlainLedger, Session, Wait};
use stagger_core::service_config::{
    HedgingPolicy, MethodPolicy, RetryPolicy, RetryThrottling, ServiceConfig,
};
use stagger_core::{Instant, Outcome, Ratio};

use super::Suite;

const VALIDATION: &str = include_str!("../../../../vectors/grpc/service-config-validation.json");
const SEQUENCE: &str = include_str!("../../../../vectors/grpc/retry-sequence.json");

/// The method of all these configs.
const METHOD: &str = "/grpc.testing.TestService/EmptyCall";

/// Runs the vectors of this file.
pub(super) fn run() -> Vec<Suite> {
    let file: Validation = serde_json::from_str(VALIDATION).expect("the vector file is valid JSON");
    vec![
        validation::<RetryPolicy>("retryPolicy", file.retry_policy),
        validation::<HedgingPolicy>("hedgingPolicy", file.hedging_policy),
        validation::<RetryThrottling>("retryThrottling", file.retry_throttling),
        caps(&file.max_attempts_cap),
        sequence(),
    ]
}

#[derive(Deserialize)]
struct Validation {
    #[serde(rename = "retryPolicy")]
    retry_policy: Vec<ServiceConfigRow>,
    #[serde(rename = "hedgingPolicy")]
    hedging_policy: Vec<ServiceConfigRow>,
    #[serde(rename = "retryThrottling")]
    retry_throttling: Vec<ServiceConfigRow>,
    max_attempts_cap: Vec<Cap>,
}

#[derive(Deserialize)]
struct ServiceConfigRow {
    name: String,
    config: Value,
    valid: bool,
    source: String,
}

fn validation<T: DeserializeOwned>(list: &str, rows: Vec<ServiceConfigRow>) -> Suite {
    let mut suite = Suite::new(format!("grpc/service-config-validation.json: {list}"));
    for row in rows {
        let got = serde_json::from_value::<T>(row.config).is_ok();
        suite.check(format!("{} ({})", row.name, row.source), &got, &row.valid);
    }
    suite
}

#[derive(Deserialize)]
struct Cap {
    service: u32,
    client_option: i32,
    effective: u32,
}

fn caps(rows: &[Cap]) -> Suite {
    let mut suite = Suite::new("grpc/service-config-validation.json: max_attempts_cap");
    for row in rows {
        let config = retrying(row.service, "UNAVAILABLE");
        // A limit below 2 means the default, and so does a negative one.
        let limit = u32::try_from(row.client_option).unwrap_or(0);
        let config = config.with_max_attempts(limit).expect("the config is valid");
        let got = method(&config).policy().limits().max_attempts();
        let name = format!("service {}, client {}", row.service, row.client_option);
        suite.check(name, &got, &Some(row.effective));
    }
    suite
}

#[derive(Deserialize)]
struct Sequence {
    steps: Vec<GrpcCall>,
}

#[derive(Deserialize)]
struct GrpcCall {
    code: String,
    last_call: u32,
}

fn sequence() -> Suite {
    let file: Sequence = serde_json::from_str(SEQUENCE).expect("the vector file is valid JSON");
    let config = retrying(4, "ALREADY_EXISTS");
    let mut client = GrpcClient { method: *method(&config), next_call: 0 };
    let mut suite = Suite::new("grpc/retry-sequence.json");
    for (n, step) in file.steps.iter().enumerate() {
        let got = (client.call().name(), client.next_call - 1);
        suite.check(format!("step {n}"), &got, &(step.code.as_str(), step.last_call));
    }
    suite
}

/// The client of the test, and the server that it calls.
struct GrpcClient {
    method: MethodPolicy,
    next_call: u32,
}

impl GrpcClient {
    /// One call with its retries; answers its final code.
    fn call(&mut self) -> Code {
        let policy = *self.method.policy();
        let mut ledger = PlainLedger::new(&policy);
        let mut now = Instant::ORIGIN;
        let mut last = Code::Ok;
        let (mut session, mut act) = Session::start(&policy, &mut ledger, Call::idempotent(), now);
        loop {
            act = match act {
                Action::Attempt(launched) | Action::Hedge(launched) => {
                    last = self.answer();
                    let outcome: Outcome = self.method.classify(last);
                    session.on_outcome(&mut ledger, now, launched, &outcome, &mut || 0)
                }
                Action::Wait(Wait::Until(wake)) => {
                    now = wake;
                    session.on_wake(&mut ledger, now)
                }
                Action::Wait(Wait::Copies { .. }) | Action::Done(_) => return last,
            };
        }
    }

    /// The server's answers, as the file's note numbers them; the file has them in words only.
    fn answer(&mut self) -> Code {
        let call = self.next_call;
        self.next_call += 1;
        match call {
            0 | 2 | 5 => Code::Ok,
            6 | 8 | 11 => Code::Internal,
            _ => Code::AlreadyExists,
        }
    }
}

fn retrying(max_attempts: u32, code: &str) -> ServiceConfig {
    let config = json!({ "methodConfig": [{
        "name": [{ "service": "grpc.testing.TestService" }],
        "waitForReady": true,
        "retryPolicy": {
            "maxAttempts": max_attempts,
            "initialBackoff": "0.01s",
            "maxBackoff": "0.01s",
            "backoffMultiplier": 1.0,
            "retryableStatusCodes": [code],
        },
    }] });
    serde_json::from_value(config).expect("a valid service config")
}

fn method(config: &ServiceConfig) -> &MethodPolicy {
    config.method(METHOD).expect("the service has an entry")
}

const THROTTLED_SEQUENCE: &str = include_str!("../../../../vectors/grpc/throttling-sequence.json");

/// Runs the vectors of this file.
pub(super) fn throttled() -> Vec<Suite> {
    let file: ThrottledSequence =
        serde_json::from_str(THROTTLED_SEQUENCE).expect("the vector file is valid JSON");
    let ratio = Ratio::try_from(file.throttling.token_ratio).expect("the file's ratio is valid");
    let plan = ThrottlePlan::new(file.throttling.max_tokens, ratio).expect("within gRFC A6");
    let mut client = ThrottledClient { plan, state: plan.start(), next_call: 0 };
    let mut suite = Suite::new("grpc/throttling-sequence.json");
    for (n, step) in file.steps.iter().enumerate() {
        let code = client.call(file.policy.max_attempts, &file.ok_calls);
        let got = (code, client.next_call - 1, client.state.milli_tokens());
        suite.check(format!("step {n}"), &got, &(step.code.as_str(), step.last_call, step.milli()));
    }
    vec![suite]
}

#[derive(Deserialize)]
struct ThrottledSequence {
    policy: ThrottledPolicy,
    #[serde(rename = "retryThrottling")]
    throttling: Throttling,
    ok_calls: Vec<u32>,
    steps: Vec<ThrottleCall>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ThrottledPolicy {
    max_attempts: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Throttling {
    max_tokens: u32,
    token_ratio: f64,
}

#[derive(Deserialize)]
struct ThrottleCall {
    code: String,
    last_call: u32,
    tokens: f64,
}

impl ThrottleCall {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the file's counts lie from 0 to 10"
    )]
    fn milli(&self) -> u64 {
        (self.tokens * 1_000.0).round() as u64
    }
}

struct ThrottledClient {
    plan: ThrottlePlan,
    state: ThrottleState,
    next_call: u32,
}

impl ThrottledClient {
    /// One call with its retries; answers its final code.
    fn call(&mut self, max_attempts: u32, ok_calls: &[u32]) -> &'static str {
        for attempt in 1..=max_attempts {
            let ok = ok_calls.contains(&self.next_call);
            self.next_call += 1;
            // The throttle gives the same for every success: what a retry paid is nothing here.
            let settled = if ok { Settled::FirstTry } else { Settled::Failed };
            self.state = self.plan.on_settled(self.state, settled);
            if ok {
                return "OK";
            }
            if attempt < max_attempts && self.plan.ask(self.state).is_none() {
                break;
            }
        }
        "UNAVAILABLE"
    }
}
