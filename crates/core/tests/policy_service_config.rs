//! gRPC service configs: which entry a method gets, and what it comes to.
#![cfg(feature = "serde")]

use serde_json::{Value, json};
use stagger_core::budget::BudgetPlan;
use stagger_core::classify::{Code, CodeSet};
use stagger_core::service_config::{RetryPolicy, ServiceConfig};
use stagger_core::{Jitter, Ratio, Span, Verdict};

fn read(config: Value) -> Result<ServiceConfig, String> {
    serde_json::from_value(config).map_err(|error| error.to_string())
}

fn retry(max_attempts: u32) -> Value {
    json!({
        "maxAttempts": max_attempts,
        "initialBackoff": "0.1s",
        "maxBackoff": "1s",
        "backoffMultiplier": 2,
        "retryableStatusCodes": ["UNAVAILABLE"],
    })
}

fn with(key: &str, value: Value) -> Value {
    let mut policy = retry(3);
    policy[key] = value;
    policy
}

/// The error of a whole config with a bad `retryPolicy`.
fn refusal(policy: Value) -> String {
    let config = json!({ "methodConfig": [{ "name": [{}], "retryPolicy": policy }] });
    read(config).expect_err("refused")
}

#[test]
fn the_entry_that_names_the_method_wins_over_its_service_and_that_over_the_default() {
    let config = read(json!({ "methodConfig": [
        { "name": [{}], "retryPolicy": retry(2) },
        { "name": [{ "service": "a.B" }, { "service": "a.C", "method": "" }], "retryPolicy": retry(3) },
        { "name": [{ "service": "a.B", "method": "Get" }], "retryPolicy": retry(4) },
        { "retryPolicy": retry(5) },
    ] }))
    .unwrap();
    for (path, attempts) in [
        ("/a.B/Get", 4),
        ("/a.B/List", 3),
        ("/a.B/get", 3),
        ("/a.C/Get", 3),
        ("/a/Get", 2),
        ("/a.B/", 3),
        ("//", 2),
        ("", 2),
    ] {
        let policy = config.method(path).unwrap();
        assert_eq!(policy.policy().limits().max_attempts(), Some(attempts), "{path:?}");
    }
}

#[test]
fn a_method_without_an_entry_has_no_policy() {
    assert_eq!(read(json!({})).unwrap().method("/a.B/Get"), None);
    let other = read(json!({ "methodConfig": [{ "name": [{ "service": "a.C" }] }] })).unwrap();
    assert_eq!(other.method("/a.B/Get"), None);
}

#[test]
fn an_entry_that_neither_retries_nor_hedges_makes_one_attempt() {
    let entry = json!({ "name": [{ "service": "a.B" }], "timeout": "1.5s", "waitForReady": true });
    let config = read(json!({ "methodConfig": [entry], "loadBalancingConfig": [{}] })).unwrap();
    let method = config.method("/a.B/Get").unwrap();
    assert_eq!(method.policy().limits().max_attempts(), Some(1));
    assert_eq!(method.policy().limits().deadline(), Some(Span::from_millis(1_500)));
    assert_eq!(method.classify(Code::Unavailable).verdict, Verdict::Permanent);
}

#[test]
fn a_retry_policy_becomes_an_exponential_backoff_with_jitter_around_it() {
    let config = read(json!({
        "methodConfig": [{ "name": [{}], "retryPolicy": retry(3) }],
        "retryThrottling": { "maxTokens": 10, "tokenRatio": 0.1 },
    }))
    .unwrap();
    let method = config.method("/a.B/Get").unwrap();
    let backoff = method.policy().backoff();
    assert_eq!(backoff.jitter(), Jitter::Symmetric(Ratio::from_percent(20)));
    let ceilings = [1, 2, 3, 4, 5].map(|k| backoff.ceiling(k));
    assert_eq!(ceilings, [100, 200, 400, 800, 1_000].map(Span::from_millis));
    assert_eq!(backoff.range(1), (Span::from_millis(80), Span::from_millis(120)));
    let BudgetPlan::Throttle(plan) = method.policy().budget() else { panic!("a throttle") };
    assert_eq!(Some(*plan), config.throttling());
    assert_eq!((plan.max_tokens(), plan.token_ratio()), (10, Ratio::from_percent(10)));
}

#[test]
fn without_throttling_nothing_but_the_attempts_limits_retries() {
    let config = read(json!({ "methodConfig": [{ "name": [{}], "retryPolicy": retry(3) }] }));
    let config = config.unwrap();
    assert_eq!(config.method("").unwrap().policy().budget(), &BudgetPlan::Unlimited);
    assert_eq!(config.throttling(), None);
}

#[test]
fn a_hedging_policy_becomes_a_plan_of_as_many_copies() {
    let hedging = json!({
        "maxAttempts": 9, "hedgingDelay": "0.5s", "nonFatalStatusCodes": ["aborted", 13],
    });
    let config = read(json!({ "methodConfig": [{ "name": [{}], "hedgingPolicy": hedging }] }));
    let config = config.unwrap();
    let method = config.method("").unwrap();
    let plan = method.policy().hedge().unwrap();
    assert_eq!((plan.copies(), plan.delay(None)), (5, Span::from_millis(500)));
    assert_eq!(method.policy().limits().max_attempts(), Some(5));
    assert_eq!(method.codes(), CodeSet::EMPTY.with(Code::Aborted).with(Code::Internal));
    let config = config.clone().with_max_attempts(7).unwrap();
    assert_eq!(config.method("").unwrap().policy().hedge().unwrap().copies(), 5);
    let config = config.with_max_attempts(3).unwrap();
    assert_eq!(config.method("").unwrap().policy().hedge().unwrap().copies(), 3);
}

#[test]
fn retrying_and_hedging_one_method_is_refused() {
    let entry = json!({
        "name": [{}], "retryPolicy": retry(3), "hedgingPolicy": { "maxAttempts": 2 },
    });
    assert_eq!(
        read(json!({ "methodConfig": [entry] })).unwrap_err(),
        "methodConfig.hedgingPolicy = given: must be left out when retryPolicy is given"
    );
}

#[test]
fn a_name_of_two_entries_is_refused() {
    let entry = json!({ "name": [{ "service": "a.B", "method": "Get" }] });
    assert_eq!(
        read(json!({ "methodConfig": [entry, entry] })).unwrap_err(),
        "methodConfig.name = /a.B/Get: must be named by one entry only"
    );
}

#[test]
fn a_method_without_its_service_is_refused() {
    let error = read(json!({ "methodConfig": [{ "name": [{ "method": "Get" }] }] })).unwrap_err();
    assert!(error.starts_with("methodConfig.name.method = Get: must be"), "{error}");
}

#[test]
fn fields_to_come_are_read_past_at_every_level() {
    let policy = with("perAttemptRecvTimeout", json!("1s"));
    let entry = json!({ "name": [{}], "retryPolicy": policy, "newField": {} });
    assert!(read(json!({ "methodConfig": [entry], "healthCheckConfig": {} })).is_ok());
}

#[test]
fn a_refusal_names_the_field_the_value_and_the_bound() {
    for (key, value, text) in [
        ("maxAttempts", json!(1), "retryPolicy.maxAttempts = 1: must be a whole number from 2"),
        (
            "initialBackoff",
            json!("100ms"),
            "retryPolicy.initialBackoff = \"100ms\": must be seconds",
        ),
        ("maxBackoff", json!("0s"), "retryPolicy.maxBackoff = \"0s\": must be above \"0s\""),
        ("backoffMultiplier", json!(0.5), "retryPolicy.backoffMultiplier = 0.5: must be a finite"),
        ("retryableStatusCodes", json!([]), "retryPolicy.retryableStatusCodes = []: must be at"),
        ("retryableStatusCodes", json!(["abcd"]), "retryPolicy.retryableStatusCodes = \"abcd\""),
        ("retryableStatusCodes", json!([17]), "retryPolicy.retryableStatusCodes = 17: must be a"),
    ] {
        let error = refusal(with(key, value));
        assert!(error.starts_with(text), "{error}");
    }
    let throttling = |tokens: Value, ratio: Value| {
        let given = json!({ "maxTokens": tokens, "tokenRatio": ratio });
        read(json!({ "retryThrottling": given })).unwrap_err()
    };
    assert_eq!(
        throttling(json!(1_001), json!(0.1)),
        "retryThrottling.maxTokens = 1001: must be from 1 to 1000"
    );
    assert_eq!(
        throttling(json!(10), json!(0.000_1)),
        "retryThrottling.tokenRatio = 0.0001: must be at least 0.001"
    );
    let hedging = json!({ "maxAttempts": 2, "hedgingDelay": "3601s" });
    assert_eq!(
        read(json!({ "methodConfig": [{ "hedgingPolicy": hedging }] })).unwrap_err(),
        "hedgingPolicy.hedgingDelay = 3601s: must be at most 1h"
    );
}

#[test]
fn an_initial_backoff_above_the_longest_waits_the_longest() {
    let policy: RetryPolicy = serde_json::from_value(with("initialBackoff", json!("5s"))).unwrap();
    assert_eq!([1, 2, 9].map(|k| policy.backoff().ceiling(k)), [Span::from_secs(1); 3]);
}

#[test]
fn codes_are_names_in_any_case_or_numbers() {
    let codes = json!(["unavailable", "Resource_Exhausted", 4]);
    let policy: RetryPolicy = serde_json::from_value(with("retryableStatusCodes", codes)).unwrap();
    let listed: Vec<Code> = policy.codes().iter().collect();
    assert_eq!(listed, [Code::DeadlineExceeded, Code::ResourceExhausted, Code::Unavailable]);
}
