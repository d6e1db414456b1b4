//! Attempts and delays as the products' own tests and pages have them, beside those of the imported policies.
//!
//! `vectors/SOURCES.md` names the sources of every row.

use serde::Deserialize;
use stagger_core::budget::BudgetPlan;
use stagger_core::retry::{Action, Call, PlainLedger, Session, Wait};
use stagger_core::{Instant, Jitter, Outcome, Policy, Span, Verdict};
use stagger_import::{ImportSource, import};

const DELAYS: &str = include_str!("../../../vectors/products/delays.json");
const RETRIES: &str = include_str!("../../../vectors/grpc/retry-sequence.json");
const THROTTLED: &str = include_str!("../../../vectors/grpc/throttling-sequence.json");

#[derive(Deserialize)]
struct DelayVectors {
    cases: Vec<DelayCase>,
}

#[derive(Deserialize)]
struct DelayCase {
    product: String,
    test: String,
    settings: String,
    max_attempts: u32,
    delays: Vec<ExpectedDelay>,
}

/// The delay before one retry.
#[derive(Deserialize)]
#[serde(untagged)]
enum ExpectedDelay {
    /// The product draws below its ceiling by the remainder.
    Drawn { draw: u64, delay_ms: u64 },
    /// The shortest and the longest.
    Between { from_us: u64, to_us: u64 },
}

impl ExpectedDelay {
    fn check(&self, policy: &Policy, retry: u32, name: &str) {
        let rule = policy.backoff();
        match *self {
            Self::Drawn { draw, delay_ms } => {
                assert_eq!(rule.jitter(), Jitter::Full, "{name}");
                let ceiling = rule.ceiling(retry).as_nanos() / 1_000_000;
                assert_eq!(draw % ceiling, delay_ms, "{name}: retry {retry}");
            }
            Self::Between { from_us, to_us } => {
                let expected = (Span::from_micros(from_us), Span::from_micros(to_us));
                assert_eq!(rule.range(retry), expected, "{name}: retry {retry}");
            }
        }
    }
}

#[test]
fn an_imported_policy_had_other_attempts_or_delays_than_its_product() {
    let file: DelayVectors = serde_json::from_str(DELAYS).expect("the vectors are JSON");
    let mut products = Vec::new();
    for case in &file.cases {
        let name = format!("{}: {}", case.product, case.test);
        let imported =
            import(&case.settings, None).unwrap_or_else(|error| panic!("{name}: {error}"));
        let source: ImportSource = case.product.parse().expect("a format");
        assert_eq!(imported.sources, [source], "{name}");
        let [found] = imported.policies.as_slice() else {
            panic!("{name}: {:?}", imported.policies)
        };
        assert_eq!(found.policy.limits().max_attempts(), Some(case.max_attempts), "{name}");
        for (retry, delay) in (1..).zip(&case.delays) {
            delay.check(&found.policy, retry, &name);
        }
        products.push(case.product.as_str());
    }
    products.dedup();
    assert_eq!(products, ["envoy", "grpc", "polly", "resilience4j"], "each has vectors");
}

/// A client of an imported policy, and a server that answers by the number of the call.
struct ImportedClient {
    policy: Policy,
    ledger: PlainLedger,
    calls: u32,
}

impl ImportedClient {
    fn of(config: &str) -> Self {
        let imported = import(config, None).expect("a service config");
        let policy = imported.policies[0].policy;
        Self { policy, ledger: PlainLedger::new(&policy), calls: 0 }
    }

    /// One call with its retries; returns the verdict of its last attempt.
    fn call(&mut self, server: impl Fn(u32) -> Verdict) -> Verdict {
        let mut now = Instant::ORIGIN;
        let mut last = Verdict::Cancelled;
        let ledger = &mut self.ledger;
        let (mut session, mut action) =
            Session::start(&self.policy, ledger, Call::idempotent(), now);
        loop {
            action = match action {
                Action::Attempt(launched) | Action::Hedge(launched) => {
                    last = server(self.calls);
                    self.calls += 1;
                    session.on_outcome(ledger, now, launched, &Outcome::new(last), &mut || 0)
                }
                Action::Wait(Wait::Until(wake)) => {
                    now = wake;
                    session.on_wake(ledger, now)
                }
                Action::Wait(Wait::Copies { .. }) | Action::Done(_) => return last,
            };
        }
    }
}

#[derive(Deserialize)]
struct Sequence {
    #[serde(default)]
    ok_calls: Vec<u32>,
    steps: Vec<RpcStep>,
}

#[derive(Deserialize)]
struct RpcStep {
    code: String,
    last_call: u32,
}

/// The service config of both tests of grpc-go, with this part behind it.
fn config(more: &str) -> String {
    format!(
        r#"{{ "methodConfig": [{{
            "name": [{{ "service": "grpc.testing.TestService" }}],
            "retryPolicy": {{
                "maxAttempts": 4, "initialBackoff": "0.01s", "maxBackoff": "0.01s",
                "backoffMultiplier": 1.0, "retryableStatusCodes": ["UNAVAILABLE"]
            }}
        }}]{more} }}"#
    )
}

#[test]
fn an_imported_service_config_made_other_attempts_than_grpc_go() {
    let sequence: Sequence = serde_json::from_str(RETRIES).expect("the vectors are JSON");
    let mut client = ImportedClient::of(&config(""));
    // The numbers of the server's answers are in the note of the file.
    let server = |call| match call {
        0 | 2 | 5 => Verdict::Ok,
        6 | 8 | 11 => Verdict::Permanent,
        _ => Verdict::Transient,
    };
    for (number, step) in sequence.steps.iter().enumerate() {
        let verdict = match step.code.as_str() {
            "OK" => Verdict::Ok,
            "INTERNAL" => Verdict::Permanent,
            _ => Verdict::Transient,
        };
        let found = (client.call(server), client.calls - 1);
        assert_eq!(found, (verdict, step.last_call), "step {number}");
    }
}

#[test]
fn an_imported_throttle_allowed_other_retries_than_grpc_go() {
    let sequence: Sequence = serde_json::from_str(THROTTLED).expect("the vectors are JSON");
    let throttling = r#", "retryThrottling": { "maxTokens": 10, "tokenRatio": 0.5 }"#;
    let mut client = ImportedClient::of(&config(throttling));
    let budget = client.policy.budget();
    assert!(matches!(budget, BudgetPlan::Throttle(_)), "{budget:?}");
    let server = |call| match sequence.ok_calls.contains(&call) {
        true => Verdict::Ok,
        false => Verdict::Transient,
    };
    for (number, step) in sequence.steps.iter().enumerate() {
        let verdict = if step.code == "OK" { Verdict::Ok } else { Verdict::Transient };
        let found = (client.call(server), client.calls - 1);
        assert_eq!(found, (verdict, step.last_call), "step {number}");
    }
}
