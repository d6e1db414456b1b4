//! gRPC retry throttling: grpc-go's sequence of calls, with the count after every one.

use serde::Deserialize;
use stagger_core::Ratio;
use stagger_core::budget::{Settled, ThrottlePlan, ThrottleState};

use super::Suite;

const SEQUENCE: &str = include_str!("../../../../vectors/grpc/throttling-sequence.json");

/// Runs the vectors of this file.
pub(super) fn run() -> Vec<Suite> {
    let file: Sequence = serde_json::from_str(SEQUENCE).expect("the vector file is valid JSON");
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
struct Sequence {
    policy: Policy,
    #[serde(rename = "retryThrottling")]
    throttling: Throttling,
    ok_calls: Vec<u32>,
    steps: Vec<ThrottleCall>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Policy {
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
