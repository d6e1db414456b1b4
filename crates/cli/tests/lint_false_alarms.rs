//! Policies that are right as they are, or wrong in known ways: imported from the configurations of
//! services, or written by `choose`.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use stagger_core::{Policy, Span};
use stagger_explain::{Answers, Code, Repeat, Setting, choose, lint};
use stagger_import::import;

use Code::{ClampAfterJitter, NoAttemptTimeout, NoBudget, NoJitter};

/// The policies of a file by name, each with the findings that are right about it.
type Expected = &'static [(&'static str, &'static [Code])];

/// One configuration of each product, with the findings that are right about each of its policies.
///
/// - `NoAttemptTimeout`: gRPC and Envoy without `per_try_timeout` have no limit for one attempt; the
///   others name none here.
/// - `NoBudget`: nothing in the file bounds retries over time.
/// - `NoJitter`: resilience4j waits a fixed time unless it is told to randomise it.
/// - `ClampAfterJitter`: Polly draws a quarter up and down around `MaxDelay`.
const CONFIGS: [(&str, Expected); 6] = [
    (
        include_str!("../../../docs/guides/service-config.json"),
        &[("shop.Orders", &[NoAttemptTimeout])],
    ),
    (
        include_str!("../../import/tests/samples/grpc.json"),
        &[
            ("store.Orders", &[NoAttemptTimeout]),
            ("store.Carts/Get", &[NoAttemptTimeout]),
            ("default", &[NoAttemptTimeout]),
        ],
    ),
    (
        include_str!("../../import/tests/samples/envoy.yaml"),
        &[("orders", &[]), ("search", &[NoAttemptTimeout, NoBudget])],
    ),
    (
        include_str!("../../import/tests/samples/resilience4j.yml"),
        &[
            ("orders", &[NoBudget]),
            ("plain", &[NoJitter, NoAttemptTimeout, NoBudget]),
            ("breaker-only", &[NoAttemptTimeout]),
        ],
    ),
    (
        include_str!("../../import/tests/samples/resilience4j.properties"),
        &[("orders", &[NoAttemptTimeout, NoBudget])],
    ),
    (
        include_str!("../../import/tests/samples/polly.json"),
        &[
            ("Catalog", &[NoBudget]),
            ("Plain", &[ClampAfterJitter, NoAttemptTimeout, NoBudget]),
            ("Standard", &[NoBudget]),
        ],
    ),
];

/// The retry settings of Google's APIs, from the gRPC service configs of github.com/googleapis/googleapis
/// at commit f8291d2b89: each combination once, with the number of methods that have it.
const GOOGLE: &str = include_str!("google_retries.csv");

fn codes(policy: &Policy, setting: &Setting) -> Vec<Code> {
    lint(policy, setting).into_iter().map(|finding| finding.code).collect()
}

#[test]
fn an_imported_configuration_has_the_findings_that_are_right_about_it() {
    for (text, policies) in CONFIGS {
        let imported = import(text, None).expect("a configuration");
        let found = imported
            .policies
            .iter()
            .map(|found| (found.name.as_str(), codes(&found.policy, &Setting::default())));
        let want = policies.iter().map(|(name, codes)| (*name, codes.to_vec()));
        assert!(found.clone().eq(want), "{:?}", found.collect::<Vec<_>>());
    }
}

/// One row of the table as a service config, and how many methods have it.
fn service_config(row: &str) -> (Value, u32) {
    let cells: Vec<&str> = row.split(',').collect();
    let [initial, max, multiplier, attempts, timeout, methods] = cells[..] else {
        panic!("six columns: {row}")
    };
    let number = |text: &str| text.parse::<f64>().expect("a number");
    let count = |text: &str| text.parse::<u32>().expect("a whole number");
    let config = json!({
        "methodConfig": [{
            "name": [{ "service": "google.Api" }],
            "timeout": format!("{timeout}s"),
            "retryPolicy": {
                "maxAttempts": count(attempts),
                "initialBackoff": format!("{initial}s"),
                "maxBackoff": format!("{max}s"),
                "backoffMultiplier": number(multiplier),
                "retryableStatusCodes": ["UNAVAILABLE"],
            },
        }],
        "retryThrottling": { "maxTokens": 100, "tokenRatio": 0.1 },
    });
    (config, count(methods))
}

#[test]
fn the_importer_wrote_hints_that_the_lint_then_blamed() {
    let mut methods = 0;
    for row in GOOGLE.lines().skip(1) {
        let (config, of) = service_config(row);
        let imported = import(&config.to_string(), None).expect("a service config");
        let found = codes(&imported.policies[0].policy, &Setting::default());
        // gRPC has no limit for one attempt, and draws its jitter around the capped backoff.
        let known = |code: &&Code| matches!(code, NoAttemptTimeout | ClampAfterJitter);
        let other: Vec<_> = found.iter().filter(|code| !known(code)).collect();
        // Four waits of 2.7 s or more do not fit 5 s: one call in a hundred comes to attempt 5.
        let tight = row.starts_with("1,10,1.3,5,5,");
        assert_eq!(other, if tight { vec![&Code::AttemptsNeverStart] } else { vec![] }, "{row}");
        methods += of;
    }
    assert_eq!(methods, 2_183);
}

/// A broad sample of answers.
fn answers() -> Vec<Answers> {
    let start = Answers { repeat: Repeat::Idempotent, ..Answers::default() };
    let mut all = vec![start];
    let mut vary = |set: &dyn Fn(&Answers) -> Vec<Answers>| {
        all = all.iter().flat_map(set).collect();
    };
    vary(&|a| [1, 50, 100, 5_000, 1_000_000].map(|callers| Answers { callers, ..*a }).to_vec());
    vary(&|a| [None, Some(0.01), Some(1.0), Some(50.0)].map(|rps| Answers { rps, ..*a }).to_vec());
    let waits = [None, Some(100), Some(5_000)].map(|wait| wait.map(Span::from_millis));
    vary(&|a| waits.map(|minimum_wait| Answers { minimum_wait, ..*a }).to_vec());
    vary(&|a| [true, false].map(|background| Answers { background, ..*a }).to_vec());
    vary(&|a| [true, false].map(|rate_limited| Answers { rate_limited, ..*a }).to_vec());
    let slos = [None, Some(2), Some(30), Some(600), Some(86_400)];
    vary(&|a| slos.map(|slo| Answers { slo: slo.map(Span::from_secs), ..*a }).to_vec());
    all
}

#[test]
fn what_choose_writes_is_clean() {
    let mut policies = BTreeSet::new();
    for answers in answers() {
        let policy =
            choose(&answers).expect("answers within their bounds").policy.expect("it heals");
        assert_eq!(codes(&policy, &answers.setting()), [], "{answers:?}: {policy:?}");
        policies.insert(format!("{policy:?}"));
    }
    assert!(policies.len() >= 300, "{} policies", policies.len());
}
